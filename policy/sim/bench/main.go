// SPDX-License-Identifier: Apache-2.0

// Command bench plays every load against every policy and prints the tables
// and pictures that the choice of the default algorithm rests on.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kvsteer/kvsteer/policy/sim"
)

func main() {
	traces := flag.String("traces", "../shared/data/traces/mooncake", "folder of the Mooncake traces")
	out := flag.String("out", "build/out/bench-routing", "folder for pictures; empty = none")
	only := flag.String("only", "", "name of one study; \"list\" prints all")
	seeds := flag.Int("seeds", 4, "runs of each cell, by seed; the mean is printed")
	flag.Parse()
	if err := run(os.Stdout, *traces, *out, *only, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, traces, out, only string, seeds int) error {
	found := only == ""
	for _, s := range studies() {
		if only == "list" {
			fmt.Fprintf(w, "%-12s %s\n", s.name, s.title)
			continue
		}
		if only != "" && only != s.name {
			continue
		}
		found = true
		s.seeds = seeds
		g, err := s.play(traces)
		if err != nil {
			return err
		}
		g.print(w)
		if out == "" || !s.picture {
			continue
		}
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, s.name+".svg"), g.picture(), 0o644); err != nil {
			return err
		}
	}
	if !found && only != "list" {
		return fmt.Errorf("no study is called %q", only)
	}
	return nil
}

// loadTrace makes the trace of a load for one seed. The name is "agents",
// "tenants" (short sessions of many kinds of agents), "bodies" or
// "bodies-tools-last" (agents whose bodies are read as they come), a number of
// heads such as "20 heads", or that of a Mooncake trace.
func loadTrace(folder, name string, seed uint64) (sim.Trace, error) {
	var heads int
	switch _, err := fmt.Sscanf(name, "%d heads", &heads); {
	case err == nil:
		return sim.HeadLoad{Heads: heads, Seed: seed}.Generate(), nil
	case name == "agents":
		return sim.AgentLoad{Seed: seed}.Generate(), nil
	case name == "tenants":
		return sim.AgentLoad{Kinds: 150, Tools: 12, Turns: 5, Sessions: 2, Seed: seed}.Generate(), nil
	case strings.HasPrefix(name, "bodies"):
		t := sim.AgentLoad{Sessions: 0.2, Seconds: 120, Seed: seed}.Generate()
		return sim.WithBodies(t, strings.HasSuffix(name, "tools-last")), nil
	}
	return loadMooncake(folder, name, seed)
}

func loadMooncake(folder, name string, seed uint64) (sim.Trace, error) {
	f, err := os.Open(filepath.Join(folder, name+"_trace.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return sim.Trace{}, fmt.Errorf("the Mooncake traces are public, see README.md: %w", err)
	}
	if err != nil {
		return sim.Trace{}, err
	}
	defer f.Close()
	return sim.ReadMooncake(name, f, seed)
}
