// SPDX-License-Identifier: Apache-2.0

// Command fuzz runs every fuzz target of the module, one after another, and
// writes what came of it as JSON. It exits with 1 if a target failed.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// result is one target's run.
type result struct {
	Package    string  `json:"package"`
	Target     string  `json:"target"`
	Seconds    float64 `json:"seconds"`
	Executions int     `json:"executions"`
	Finding    string  `json:"finding,omitempty"` // the failure's output
}

func main() {
	per := flag.Duration("time", 30*time.Second, "time for each target")
	out := flag.String("out", "build/out/fuzz.json", "where the results go")
	flag.Parse()
	if err := run(*per, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(per time.Duration, out string) error {
	targets, err := list()
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no fuzz target found")
	}
	failed := 0
	var results []result
	for _, t := range targets {
		r := fuzz(t, per)
		fmt.Printf("%-50s %-24s %10d executions  %s\n", r.Package, r.Target, r.Executions, verdict(r))
		if r.Finding != "" {
			failed++
			fmt.Println(r.Finding)
		}
		results = append(results, r)
	}
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, append(text, '\n'), 0o644); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets failed", failed, len(results))
	}
	return nil
}

func verdict(r result) string {
	if r.Finding != "" {
		return "FAILED"
	}
	return "ok"
}

// list returns package and name of every target, as `go test -list` prints them:
// the names of a package's targets, then a line with the package.
func list() (targets [][2]string, err error) {
	cmd := exec.Command("go", "test", "-list", "^Fuzz", "./...")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, line := range strings.Split(string(text), "\n") {
		switch f := strings.Fields(line); {
		case len(f) == 1 && strings.HasPrefix(f[0], "Fuzz"):
			names = append(names, f[0])
		case len(f) > 1 && f[0] == "ok":
			for _, n := range names {
				targets = append(targets, [2]string{f[1], n})
			}
			names = nil
		}
	}
	return targets, nil
}

var executions = regexp.MustCompile(`execs: (\d+)`)

// fuzz runs one target. Its corpus and findings are where go test puts them:
// testdata/fuzz of the package. Minimizing what only widens coverage is kept
// short, for it takes a minute each by default. A run whose time is up in the
// middle of it ends with "context deadline exceeded", which is no finding.
func fuzz(target [2]string, per time.Duration) result {
	r := result{Package: target[0], Target: target[1]}
	begin := time.Now()
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+r.Target+"$", "-fuzztime", per.String(), "-fuzzminimizetime", "100x", r.Package)
	text, err := cmd.CombinedOutput()
	r.Seconds = time.Since(begin).Seconds()
	for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
		if m := executions.FindStringSubmatch(s.Text()); m != nil {
			r.Executions, _ = strconv.Atoi(m[1])
		}
	}
	if err != nil && !(bytes.Contains(text, []byte("context deadline exceeded")) && !bytes.Contains(text, []byte("Failing input"))) {
		r.Finding = string(text)
	}
	return r
}
