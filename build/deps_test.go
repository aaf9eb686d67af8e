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

const module = "github.com/kvsteer/kvsteer/"

// bans are import directions that must not exist, each with its reason. A
// ban concerns what a package imports, directly or not, outside tests.
var bans = []struct {
	from   string   // package path below the module, and all below it
	except []string // packages below from that are commands or test support
	banned string   // import path prefix
	why    string
}{
	{"expr", nil, module, "expr knows no endpoints and no algorithms"},
	{"policy/prefix", []string{"policy/prefix/cmd"}, module, "leaves know nothing of ours"},
	{"policy/table", nil, module, "leaves know nothing of ours"},
	{"policy/hrw", nil, module, "leaves know nothing of ours"},
	{"policy", nil, module + "plugin", "imports point from plugin to policy"},
	{"policy", commands, "github.com/tetratelabs/", "only the module's host files bind Envoy"},
	{"policy", commands, "github.com/tidwall/", "the core is ours; gjson is for configurations"},
	{"policy", commands, "os", "pure packages read no environment, and os pulls WASI calls in"},
	{"policy", commands, "fmt", "fmt allocates and pulls os in"},
	{"policy", commands, "log", "pure packages don't log"},
	{"policy", commands, "net/http", "pure packages don't talk"},
	{"policy", commands, "encoding/json", "the scan is ours and streams"},
	{"expr", nil, "os", "pure packages read no environment, and os pulls WASI calls in"},
	{"expr", nil, "fmt", "fmt allocates and pulls os in"},
	{"expr", nil, "encoding/json", "an expression is no JSON"},
	{"plugin", nil, "os", "WASI file calls are not there before Envoy 1.39"},
	{"plugin", nil, "fmt", "fmt pulls os in"},
	{"plugin", nil, "net/http", "Envoy does the talking"},
	{"plugin", nil, "encoding/json", "gjson reads configurations without reflection"},
}

// commands are the programs below policy, free to use what they like.
var commands = []string{"policy/sim", "policy/prefix/cmd", "policy/routing/cmd"}

type listed struct {
	ImportPath string
	Deps       []string
}

func TestImportDirections(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, b := range bans {
			if !below(name, b.from) || anyBelow(name, b.except) {
				continue
			}
			for _, d := range p.Deps {
				own := strings.TrimPrefix(d, module)
				if below(d, strings.TrimSuffix(b.banned, "/")) && !below(own, b.from) {
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
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Deps", "./...")
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
