// SPDX-License-Identifier: Apache-2.0

// Command cmd plays a trace against one policy and reports what it did.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/policy/sim"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var (
		flags     = flag.NewFlagSet("sim", flag.ContinueOnError)
		trace     = flags.String("trace", "", "Mooncake JSON lines")
		heads     = flags.Int("heads", 0, "instead of a trace: this many shared heads")
		engines   = flags.Int("engines", 8, "engines")
		algorithm = flags.String("algorithm", "prefix-aware", "policy; \"list\" prints all")
		gateways  = flags.Int("gateways", 1, "gateways that share nothing")
		age       = flags.Duration("load-age", 500*time.Millisecond, "time between refreshes of the load")
		speed     = flags.Float64("speed", 1, "times the trace's arrival rate")
		hard      = flags.Bool("hard", false, "the harder engine model")
		reference = flags.Bool("heads-first", false, "caches evict heads before tails")
		metrics   = flags.Bool("metrics", false, "load as /metrics shows it, instead of exact queues")
		decode    = flags.Bool("count-decode", false, "count running requests in the cost")
		noUsage   = flags.Bool("no-usage", false, "answers don't tell how much was cached")
		off       = flags.String("off", "", "terms of the cost to switch off, by comma")
		seed      = flags.Uint64("seed", 1, "seed")
		asJSON    = flags.Bool("json", false, "print JSON")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, ok := sim.Find(*algorithm)
	if !ok {
		return fmt.Errorf("unknown algorithm %q", *algorithm)
	}
	c := sim.Config{
		Engines: *engines, Gateways: *gateways, LoadAge: age.Seconds(), Policy: m, Seed: *seed,
		Model: sim.SimpleModel(),
	}
	if *hard {
		c.Model = sim.HardModel()
	}
	c.Model.HeadsFirst = *reference
	if *metrics {
		c.View = sim.MetricsView
	}
	c.Options.CountDecode = *decode
	c.Options.NoUsage = *noUsage
	if *off != "" {
		c.Options.Off = strings.Split(*off, ",")
	}
	if *heads > 0 {
		c.Trace = sim.HeadLoad{Heads: *heads, Seed: *seed}.Generate()
	} else {
		f, err := os.Open(*trace)
		if err != nil {
			return err
		}
		defer f.Close()
		if c.Trace, err = sim.ReadMooncake(*trace, f, *seed); err != nil {
			return err
		}
	}
	c.Trace = c.Trace.Scale(*speed)
	r, err := sim.Run(c)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	fmt.Printf("%-30s mean %8.3f  p99 %8.2f  hit %.3f  imbalance %.2f  moved %.3f\n",
		r.Policy, r.MeanFirstToken, r.P99FirstToken, r.HitRatio, r.Imbalance, r.MovedShare)
	return nil
}
