// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestVectorsHoldInWasm runs the vector tests of this package as wasm in V8,
// which is what Envoy runs. The hash library has code of its own for each
// architecture, and ints have 32 bits there.
func TestVectorsHoldInWasm(t *testing.T) {
	if testing.Short() || runtime.GOARCH == "wasm" {
		t.Skip("builds and runs a second test binary")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	runner := filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "go_js_wasm_exec")
	c := exec.Command("go", "test", "-count=1", "-v", "-exec", runner, "-run", "Vectors$", ".")
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestHashVectors/sample") {
		t.Errorf("the vectors did not run:\n%s", out)
	}
}
