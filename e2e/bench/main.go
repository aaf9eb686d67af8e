// SPDX-License-Identifier: Apache-2.0

// Command bench measures what kvsteer costs: the CPU time that Envoy takes per
// request, without the plugin and with it.
//
// Both Envoys run side by side with one worker thread each, in front of the
// same servers, which answer at once. They are loaded in turns, so that what
// else the machine does meets both; CPU time is read from /proc for the Envoy
// process alone. The figures are medians over the rounds.
//
//	go run ./bench [-rounds 7]
//
// With -stalls it measures instead how long requests take in an Envoy whose only
// worker collects, beside one whose worker doesn't.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kvsteer/kvsteer/e2e/envoy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A load is a kind of request and how many of them make a round.
type load struct {
	name     string
	bytes    int
	requests int
}

// 16 KiB is a chat with some history, 220 KiB an agent's request with tools
// and a long history.
var loads = []load{
	{"16 KiB", 16 << 10, 4000},
	{"220 KiB", 220 << 10, 600},
}

func run() error {
	rounds := flag.Int("rounds", 7, "rounds of each load")
	stalls := flag.Bool("stalls", false, "how long requests take beside the collector, instead")
	flag.Parse()
	if runtime.GOOS != "linux" {
		return fmt.Errorf("CPU time is read from /proc: Linux is needed, this is %s", runtime.GOOS)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := envoy.Root()
	if err != nil {
		return err
	}
	binary, err := envoy.Find(ctx, filepath.Join(root, "build/out"), os.Stdout)
	if err != nil {
		return err
	}
	if *stalls {
		describe(binary)
		return compareStalls(ctx, binary, root, *rounds)
	}
	sinks, err := startSinks()
	if err != nil {
		return err
	}
	bare, steered, err := startBoth(ctx, binary, root, sinks)
	if err != nil {
		return err
	}
	defer bare.Stop()
	defer steered.Stop()

	describe(binary)
	return compare(ctx, bare, steered, *rounds)
}

// startBoth starts an Envoy without the plugin and one with it.
func startBoth(ctx context.Context, b *envoy.Binary, root string, sinks []string) (bare, steered *envoy.Instance, err error) {
	// Each has an admin port of its own, which the configuration names.
	config, err := envoy.Published(root, sinks)
	if err != nil {
		return nil, nil, err
	}
	without, err := envoy.Published(root, sinks)
	if err != nil {
		return nil, nil, err
	}
	if without, err = envoy.Bare(without, "least_request"); err != nil {
		return nil, nil, err
	}
	options := envoy.Options{Workers: 1}
	if bare, err = envoy.Start(ctx, b, without, options); err != nil {
		return nil, nil, err
	}
	if steered, err = envoy.Start(ctx, b, config, options); err != nil {
		bare.Stop()
		return nil, nil, err
	}
	return bare, steered, nil
}

// describe prints what the figures depend on.
func describe(b *envoy.Binary) {
	fmt.Printf("%s, %d cores; %s; %s; one worker thread\ncommand: go run ./bench %s\n\n",
		cpuModel(), runtime.NumCPU(), runtime.Version(), b, strings.Join(os.Args[1:], " "))
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		if _, rest, ok := strings.Cut(string(info), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			return strings.Trim(line, "\t :")
		}
	}
	return runtime.GOARCH
}

// compare loads both in turns and prints the table.
func compare(ctx context.Context, bare, steered *envoy.Instance, rounds int) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "body\tbare Envoy\twith kvsteer\tadded\tratio\t")
	for _, l := range loads {
		bodies := makeBodies(l.bytes)
		var without, with []time.Duration
		for round := range rounds + 1 {
			a, err := cpuPerRequest(ctx, bare, bodies, l.requests)
			if err != nil {
				return err
			}
			b, err := cpuPerRequest(ctx, steered, bodies, l.requests)
			if err != nil {
				return err
			}
			if round > 0 { // the first round warms both up
				without, with = append(without, a), append(with, b)
			}
		}
		a, b := median(without), median(with)
		fmt.Fprintf(out, "%s\t%d µs\t%d µs\t%d µs\t%.2f\t\n", l.name, a.Microseconds(), b.Microseconds(), (b - a).Microseconds(), float64(b)/float64(a))
	}
	return out.Flush()
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// cpuPerRequest sends a round of requests and returns the CPU time that the
// Envoy took for each.
func cpuPerRequest(ctx context.Context, i *envoy.Instance, bodies [][]byte, requests int) (time.Duration, error) {
	before, err := cpuTime(i.PID())
	if err != nil {
		return 0, err
	}
	if err := send(ctx, i.Address, bodies, requests); err != nil {
		return 0, err
	}
	after, err := cpuTime(i.PID())
	return (after - before) / time.Duration(requests), err
}

// cpuTime sums the time that a process' threads have run, from the scheduler's
// own count in nanoseconds.
func cpuTime(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no threads of process %d in /proc (%w)", pid, err)
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		var ran int64
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += time.Duration(ran)
	}
	return sum, nil
}
