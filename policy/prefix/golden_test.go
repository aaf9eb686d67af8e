// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

const goldenFile = "testdata/golden.txt"

// TestGolden notices a change of the format: whoever means one also raises Version. The first part
// of a file's name is its shape. Rewrite with: go test ./policy/prefix -run TestGolden -update
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/bodies/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d bodies in testdata/bodies, want a dozen (%v)", len(files), err)
	}
	var got strings.Builder
	fmt.Fprintf(&got, "# version %s, seed 0; go test ./policy/prefix -run TestGolden -update\n", Version)
	for _, file := range files {
		name := filepath.Base(file)
		shapeName, _, _ := strings.Cut(name, ".")
		shape, ok := ParseShape(shapeName)
		if !ok {
			t.Fatalf("%s: no shape %q", name, shapeName)
		}
		o, reason := scan(shape, string(readFile(t, file)))
		if !o.ok {
			t.Fatalf("%s: reason %v", name, reason)
		}
		fmt.Fprintf(&got, "\n%s\nlength %d tag %016x +%d head %d %016x key %016x prev %d\n",
			name, o.length, o.tag.Hash, o.tag.Bytes, o.marks.Head, o.marks.HeadHash, o.marks.Key, o.marks.Prev)
		for i, h := range o.hashes {
			fmt.Fprintf(&got, "%7d %016x\n", o.ends[i], h)
		}
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := string(readFile(t, goldenFile))
	if got.String() != want {
		t.Errorf("fingerprints differ from %s:\n%s", goldenFile, firstDifference(got.String(), want))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: got %q, want %q", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return "lines are missing at the end"
}
