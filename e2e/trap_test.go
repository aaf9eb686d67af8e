// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// trapOnTrailers writes a copy of the built module that traps when it is called
// for a request's trailers, and returns its path. The plugin itself recovers
// from its panics, so a trap has to be put in from outside.
func trapOnTrailers(t *testing.T) string {
	t.Helper()
	root, err := envoy.Root()
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(envoy.Module(root))
	if err != nil {
		t.Fatal(err)
	}
	if module, err = withTrap(module, "proxy_on_request_trailers"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trap.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Ids of a module's sections and kinds of its imports and exports (WebAssembly
// core specification, §5.5).
const (
	importSection = 2
	exportSection = 7
	codeSection   = 10

	kindFunction = 0
	kindTable    = 1
	kindMemory   = 2
	kindGlobal   = 3
)

// trapBody is a function's code: its size, no locals, unreachable, end.
var trapBody = []byte{3, 0, 0x00, 0x0b}

var errNoExport = errors.New("e2e: the module has no such export")

// withTrap replaces the code of an exported function by a trap.
func withTrap(module []byte, export string) ([]byte, error) {
	imported, index := 0, -1
	out := append([]byte(nil), module[:8]...) // magic and version
	for rest := (reader{module[8:]}); len(rest.b) > 0; {
		id := rest.byte()
		content := rest.bytes()
		switch id {
		case importSection:
			imported = countImports(reader{content})
		case exportSection:
			index = findExport(reader{content}, export)
		case codeSection:
			if index < imported {
				return nil, errNoExport
			}
			content = replaceCode(reader{content}, index-imported)
		}
		out = append(out, id)
		out = appendBytes(out, content)
	}
	return out, nil
}

// reader reads the parts of a module that is known to be valid.
type reader struct{ b []byte }

func (r *reader) byte() byte {
	b := r.b[0]
	r.b = r.b[1:]
	return b
}

func (r *reader) number() int {
	n, size := binary.Uvarint(r.b)
	r.b = r.b[size:]
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.number()
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func countImports(r reader) (functions int) {
	for range r.number() {
		r.bytes()
		r.bytes()
		switch r.byte() {
		case kindFunction:
			r.number()
			functions++
		case kindTable:
			r.byte()
			r.limits()
		case kindMemory:
			r.limits()
		case kindGlobal:
			r.byte()
			r.byte()
		}
	}
	return functions
}

func (r *reader) limits() {
	flags := r.byte()
	r.number()
	if flags&1 != 0 {
		r.number()
	}
}

func findExport(r reader, name string) int {
	for range r.number() {
		is, kind, index := string(r.bytes()), byte(0), 0
		kind, index = r.byte(), r.number()
		if kind == kindFunction && is == name {
			return index
		}
	}
	return -1
}

func replaceCode(r reader, at int) []byte {
	count := r.number()
	out := binary.AppendUvarint(nil, uint64(count))
	for n := range count {
		code := r.bytes()
		if n == at {
			out = append(out, trapBody...)
			continue
		}
		out = appendBytes(out, code)
	}
	return out
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}
