// SPDX-License-Identifier: Apache-2.0

// Command cmd plays a trace against one policy and reports what it did.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/policy/sim"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// settings are the command line.
type settings struct {
	sim.Config
	trace, bodies, algorithm, off string
	heads                         int
	agents, hard, metrics         bool
	speed                         float64
	age                           time.Duration
	asJSON                        bool
}

func parse(args []string) (settings, error) {
	var s settings
	f := flag.NewFlagSet("sim", flag.ContinueOnError)
	f.StringVar(&s.trace, "trace", "", "file of Mooncake JSON lines: timestamp (ms), input_length, output_length, hash_ids")
	f.StringVar(&s.bodies, "bodies", "", "instead: file of JSON lines with timestamp (ms), path, output_length, body")
	f.IntVar(&s.heads, "heads", 0, "instead: requests with this many system prompts")
	f.BoolVar(&s.agents, "agents", false, "instead: coding agents")
	f.IntVar(&s.Engines, "engines", 8, "engines")
	f.StringVar(&s.algorithm, "algorithm", "prefix-aware", `policy; "list" prints all`)
	f.IntVar(&s.Gateways, "gateways", 1, "gateways that share nothing")
	f.DurationVar(&s.age, "load-age", 500*time.Millisecond, "time between refreshes of the load; 0 = always fresh")
	f.Float64Var(&s.speed, "speed", 1, "times the trace's arrival rate")
	f.BoolVar(&s.hard, "hard", false, "harder engines: decode slows prefill, requests hold blocks, engine 0 at half pace")
	f.BoolVar(&s.metrics, "metrics", false, "load as /metrics shows it, instead of exact queues")
	f.BoolVar(&s.Options.KnowSpeeds, "know-speeds", false, "the engines' paces are configured")
	f.BoolVar(&s.Options.CountDecode, "count-decode", false, "running requests count in the cost")
	f.BoolVar(&s.Options.NoUsage, "no-usage", false, "answers don't tell how much was cached")
	f.BoolVar(&s.Options.Chunked, "chunked", false, "bodies come without a length")
	f.BoolVar(&s.Options.TrustTag, "trust-tag", false, "the tag counts as complete once model and tools are read")
	f.StringVar(&s.off, "off", "", "terms of the cost to switch off, by comma: price, evict, discount, head-key, prior, rank, tie")
	f.Uint64Var(&s.Seed, "seed", 1, "seed")
	f.BoolVar(&s.asJSON, "json", false, "print JSON")
	return s, f.Parse(args)
}

func run(w io.Writer, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.algorithm == "list" {
		for _, m := range sim.Makers() {
			fmt.Fprintf(w, "%-30s %s\n", m.Name, m.What)
		}
		return nil
	}
	if err := s.complete(); err != nil {
		return err
	}
	r, err := sim.Run(s.Config)
	if err != nil {
		return err
	}
	if s.asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%-30s mean %8.3f  p99 %8.2f  hit %.3f  imbalance %.2f  moved %.3f\n",
		r.Policy, r.MeanFirstToken, r.P99FirstToken, r.HitRatio, r.Imbalance, r.MovedShare)
	return nil
}

// complete turns the command line into a run.
func (s *settings) complete() error {
	var ok bool
	if s.Policy, ok = sim.Find(s.algorithm); !ok {
		return fmt.Errorf("unknown algorithm %q", s.algorithm)
	}
	s.LoadAge = s.age.Seconds()
	s.Model = sim.SimpleModel()
	if s.hard {
		s.Model = sim.HardModel()
	}
	if s.metrics {
		s.View = sim.MetricsView
	}
	if s.off != "" {
		s.Options.Off = strings.Split(s.off, ",")
	}
	for _, term := range s.Options.Off {
		if sim.Terms[term] == nil {
			return fmt.Errorf("the cost has no term %q", term)
		}
	}
	if !(s.speed > 0) {
		return fmt.Errorf("speed %v, want more than 0", s.speed)
	}
	t, err := s.load()
	s.Trace = t.Scale(s.speed)
	return err
}

// load reads or makes the trace.
func (s *settings) load() (sim.Trace, error) {
	switch {
	case s.heads > 0:
		return sim.HeadLoad{Heads: s.heads, Seed: s.Seed}.Generate(), nil
	case s.agents:
		return sim.AgentLoad{Seed: s.Seed}.Generate(), nil
	}
	name := s.trace
	if s.bodies != "" {
		name = s.bodies
	}
	f, err := os.Open(name)
	if err != nil {
		return sim.Trace{}, err
	}
	defer f.Close()
	if s.bodies != "" {
		return sim.ReadBodies(name, f)
	}
	return sim.ReadMooncake(name, f, s.Seed)
}
