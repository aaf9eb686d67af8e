// SPDX-License-Identifier: Apache-2.0

// Command data says which public data the tests find beside the checkout. A
// test skips what is absent and fails on what is incomplete; with -require,
// absence is a failure too.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sets are the kinds of public data, and how their cases are counted.
var sets = []struct {
	name, path string
	count      func(path string) (int, error)
}{
	{"request bodies", "data/requests", files(".json")},
	{"JSON conformance files", "data/jsontestsuite", files(".json")},
	{"metrics pages", "data/metrics", files(".txt")},
	{"load reports", "data/orca/cases.jsonl", lines},
	{"requests of traces", "data/traces/mooncake/conversation_trace.jsonl", lines},
	{"structured field files", "data/structured-field-tests", files(".json")},
	{"files of routing vectors", "spec/vectors.json", files(".json")},
}

func main() {
	require := flag.Bool("require", false, "fail if any is absent")
	flag.Parse()
	absent := 0
	for _, s := range sets {
		n, err := s.count(filepath.Join("../shared", s.path))
		if err != nil || n == 0 {
			absent++
			fmt.Printf("public data: no %s (tests of them are skipped)\n", s.name)
			continue
		}
		fmt.Printf("public data: %d %s\n", n, s.name)
	}
	if *require && absent > 0 {
		os.Exit(1)
	}
}

// files counts the files below a path, or the path itself, by their ending.
func files(ending string) func(string) (int, error) {
	return func(path string) (n int, err error) {
		err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(d.Name(), ending) {
				n++
			}
			return err
		})
		return n, err
	}
}

func lines(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		n++
	}
	return n, s.Err()
}
