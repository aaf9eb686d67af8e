// SPDX-License-Identifier: Apache-2.0

// Command demo shows what kvsteer is for. It replays one workload through a
// real Envoy in front of four simulated engines, three times: with Envoy's
// round robin, with its least_request, and with kvsteer. Then it prints the
// results side by side and writes them as a page with pictures.
//
// It ends with an error where kvsteer isn't better. With -trace file or
// TRACE=file (a Mooncake trace) the workload is the beginning of that trace.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

const engines = 4

// A balancer is a way to choose engines: an adaptation of the published
// configuration.
type balancer struct {
	name  string
	adapt func(config string) (string, error)
}

var balancers = []balancer{
	{"round robin", func(config string) (string, error) { return envoy.Bare(config, "round_robin") }},
	{"least request", func(config string) (string, error) { return envoy.Bare(config, "least_request") }},
	{"kvsteer", func(config string) (string, error) { return config, nil }},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run() error {
	page := flag.String("page", "build/out/demo.html", "`file` to write the page to, from the project's root")
	traceFile := flag.String("trace", os.Getenv("TRACE"), "replay the beginning of this Mooncake trace `file`; default: $TRACE")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the demo runs on Linux; on %s run it in a Linux container or virtual machine", runtime.GOOS)
	}
	root, err := envoy.Root()
	if err != nil {
		return err
	}
	if _, err := os.Stat(envoy.Module(root)); err != nil {
		return fmt.Errorf("the plugin is not built (%w); make demo builds it first", err)
	}
	w, err := chooseWorkload(*traceFile, root)
	if err != nil {
		return err
	}
	binary, err := envoy.Find(ctx, filepath.Join(root, "build/out"), os.Stdout)
	if err != nil {
		return err
	}
	introduce(w, binary)

	var results []result
	for _, b := range balancers {
		r, err := measure(ctx, binary, root, w, b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		results = append(results, r)
	}
	return conclude(&report{
		Workload: w, Envoy: binary.Version, Results: results, Claims: claims(results, *traceFile == ""),
	}, filepath.Join(root, *page))
}

// chooseWorkload returns the demo's own workload, or the trace in a file, whose
// name counts from the working directory or else from the project's root.
func chooseWorkload(traceFile, root string) (*workload, error) {
	if traceFile == "" {
		return office(), nil
	}
	file, err := os.Open(traceFile)
	if errors.Is(err, os.ErrNotExist) && !filepath.IsAbs(traceFile) {
		file, err = os.Open(filepath.Join(root, traceFile))
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return trace(traceFile, file)
}

// introduce says what is about to happen.
func introduce(w *workload, binary *envoy.Binary) {
	fmt.Printf("One workload through %s, three ways to choose among %d simulated engines.\n", binary, engines)
	fmt.Printf("Workload: %s, %d requests.\n", w.title, w.requests())
	for _, line := range w.about {
		fmt.Println("  " + line)
	}
	fmt.Printf("Each engine: KV cache of %d tokens, prefill %.0f tokens/s, decode %.0f tokens/s per request.\n",
		w.engine.cacheTokens, w.engine.prefillRate, w.engine.decodeRate)
	fmt.Printf("Time runs %.0f times as fast; the figures are in simulated time.\n\n", w.scale)
}

// measure replays the workload through a fresh Envoy and fresh engines.
func measure(ctx context.Context, binary *envoy.Binary, root string, w *workload, b balancer) (result, error) {
	running, addresses, err := startEngines(w)
	defer func() {
		for _, e := range running {
			e.Close()
		}
	}()
	if err != nil {
		return result{}, err
	}
	config, err := envoy.Published(root, addresses)
	if err != nil {
		return result{}, err
	}
	if config, err = b.adapt(config); err != nil {
		return result{}, err
	}
	instance, err := envoy.Start(ctx, binary, config, envoy.Options{})
	if err != nil {
		return result{}, err
	}
	defer instance.Stop()

	bar := newProgress(os.Stdout, b.name, w.requests())
	begun := time.Now()
	outcomes := replay(ctx, w, instance.Address, bar.step)
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	r := summarize(b.name, outcomes, running)
	r.Took = time.Since(begun)
	return r, nil
}

func startEngines(w *workload) (running []*engine.Engine, addresses []string, err error) {
	for i := range engines {
		e, err := engine.Start(engine.Config{
			Name:        fmt.Sprintf("engine %d", i+1),
			CacheTokens: w.engine.cacheTokens, BlockTokens: w.engine.blockTokens,
			PrefillRate: w.engine.prefillRate, DecodeRate: w.engine.decodeRate,
			TimeScale: w.scale, EventTokens: 32, // few events: their handling would take the machine's time
		})
		if err != nil {
			return running, nil, err
		}
		running = append(running, e)
		addresses = append(addresses, e.Address())
	}
	return running, addresses, nil
}

var errNotBetter = errors.New("not all that the demo promises came true")

// conclude prints the table, writes the page and judges.
func conclude(r *report, page string) error {
	fmt.Println()
	if err := printTable(os.Stdout, r.Results); err != nil {
		return err
	}
	fmt.Println()
	for _, result := range r.Results {
		for _, o := range result.outcomes {
			if o.err != nil {
				fmt.Printf("%s: the first failure: %v\n", result.Name, o.err)
				break
			}
		}
	}
	better := true
	for _, c := range r.Claims {
		mark := "yes"
		if !c.True {
			mark, better = "NO ", false
		}
		fmt.Printf("  %s  %s\n", mark, strings.TrimSpace(c.Text))
	}
	if hint := blurred(r.Results); hint != "" {
		fmt.Println("\n" + hint)
	}
	if err := r.write(page); err != nil {
		return err
	}
	fmt.Println("\npictures: " + page)
	if !better {
		return errNotBetter
	}
	return nil
}
