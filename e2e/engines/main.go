// SPDX-License-Identifier: Apache-2.0

// Command engines serves simulated inference engines, one per address:
//
//	go run ./engines -listen 127.0.0.1:8001,127.0.0.1:8002,127.0.0.1:8003,127.0.0.1:8004
//
// With -control, a further port shows what they received and makes them fail;
// engine.Control lists its pages.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func run() error {
	var c engine.Config
	listen := flag.String("listen", "127.0.0.1:8001", "one `address` per engine, separated by commas")
	control := flag.String("control", "", "`address` of the control port; empty: none")
	flag.IntVar(&c.CacheTokens, "cache-tokens", 400_000, "size of each KV cache in tokens")
	flag.IntVar(&c.BlockTokens, "block-tokens", 16, "tokens of a cache block")
	flag.Float64Var(&c.PrefillRate, "prefill-rate", 8_000, "tokens per second")
	flag.Float64Var(&c.DecodeRate, "decode-rate", 40, "tokens per second of one request")
	flag.IntVar(&c.EventTokens, "event-tokens", 1, "tokens in one event of a stream")
	flag.Float64Var(&c.TimeScale, "time-scale", 1, "simulated seconds per real second")
	flag.IntVar(&c.Keep, "keep", 100, "how many of the last requests each engine keeps for the control port")
	flag.Parse()

	var engines []*engine.Engine
	for _, c.Listen = range strings.Split(*listen, ",") {
		e, err := engine.Start(c)
		if err != nil {
			return err
		}
		defer e.Close()
		engines = append(engines, e)
		fmt.Println("engine at", e.Address())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	failed := make(chan error, 1)
	if *control != "" {
		server := &http.Server{Addr: *control, Handler: engine.Control(engines...), ReadHeaderTimeout: 10 * time.Second}
		go func() { failed <- server.ListenAndServe() }()
		fmt.Println("control at", *control)
	}
	select {
	case <-stop:
		return nil
	case err := <-failed:
		return err
	}
}
