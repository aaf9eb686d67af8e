// SPDX-License-Identifier: Apache-2.0

// Package build holds how the module is made and what must hold for it.
package build

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/kvsteer/kvsteer"

// bans are imports that must not be, each with its reason. Of the project's own
// packages none may be reached on any way; others may not be named by the
// package itself (what a library needs is its own business).
var bans = []struct {
	from   string // package path below the module, and all below it
	banned string // import path, and all below it
	why    string
}{
	{"expr", module, "expr knows no endpoints and no algorithms"},
	{"policy/prefix", module, "leaves know nothing of ours"},
	{"policy/table", module, "leaves know nothing of ours"},
	{"policy/hrw", module, "leaves know nothing of ours"},
	{"policy/load", module, "leaves know nothing of ours"},
	{"policy", module + "/plugin", "imports point from plugin to policy"},
	{"policy", "github.com/tetratelabs", "only the plugin's host files bind Envoy"},
	{"policy", "github.com/tidwall", "the core's parsers are ours; gjson is what benchmarks and tests compare with"},
	{"policy", "os", "pure packages read no environment, and os brings WASI calls along"},
	{"policy", "fmt", "fmt allocates and brings os along"},
	{"policy", "log", "pure packages don't log"},
	{"policy", "net/http", "pure packages don't talk"},
	{"policy", "encoding/json", "bodies are scanned as they stream in"},
	{"expr", "os", "pure packages read no environment, and os brings WASI calls along"},
	{"expr", "fmt", "fmt allocates and brings os along"},
	{"expr", "encoding/json", "reflection costs 0.9 MB of module; expr/document reads configurations"},
	{"plugin", "os", "WASI's file calls are not there before Envoy 1.39"},
	{"plugin", "fmt", "a log line is a concatenation"},
	{"plugin", "net/http", "Envoy does the talking"},
	{"plugin", "encoding/json", "reflection costs 0.9 MB of module; expr/document reads configurations"},
	{"plugin", "github.com/tidwall", "gjson brings encoding/json along, 1.4 MB of module"},
}

// commands are the programs and the simulator below policy: free to use what
// they like.
var commands = []string{"policy/sim", "policy/prefix/cmd", "policy/routing/cmd"}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportDirections(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, b := range bans {
			if !below(name, b.from) || anyBelow(name, commands) {
				continue
			}
			imports := p.Imports
			if below(b.banned, module) {
				imports = p.Deps
			}
			for _, d := range imports {
				if below(d, b.banned) && !below(d, module+"/"+b.from) {
					t.Errorf("%s imports %s: %s", name, d, b.why)
				}
			}
		}
	}
}

// list returns the module's packages with all they import, as they are built
// for Envoy.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func below(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

func anyBelow(path string, roots []string) bool {
	for _, r := range roots {
		if below(path, r) {
			return true
		}
	}
	return false
}
