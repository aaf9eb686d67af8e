// SPDX-License-Identifier: Apache-2.0

// Command explain shows the fingerprint of a request body: its shape, canonical stream, blocks,
// marks, tag and reason. With two bodies it shows where they part.
//
//	go run ./policy/prefix/cmd/explain [-path /v1/chat/completions] [-shape chat] body.json [other.json]
//
// "-" reads standard input. Without -path and -shape the first shape that finds a prompt is taken.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kvsteer/kvsteer/policy/prefix"
)

// options are what the command line asks for.
type options struct {
	path, shape string
	config      prefix.Config
	full        bool
}

func main() {
	var o options
	flag.StringVar(&o.path, "path", "", "request path that gives the shape")
	flag.StringVar(&o.shape, "shape", "", "shape of the body, such as chat or messages")
	flag.Uint64Var(&o.config.Seed, "seed", 0, "seed of the chains")
	flag.IntVar(&o.config.MaxBytes, "max-bytes", 0, "canonical bytes to hash (0: 1 MiB)")
	flag.BoolVar(&o.config.KeepBilling, "keep-billing", false, "hash Claude Code's billing line too")
	flag.BoolVar(&o.full, "full", false, "show the whole canonical stream, not the start and end of long texts")
	flag.Parse()
	if err := run(os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "explain:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, o options, files []string) error {
	if len(files) < 1 || len(files) > 2 {
		return fmt.Errorf("want one or two bodies, got %d", len(files))
	}
	var prints []*fingerprint
	for _, file := range files {
		body, err := read(file)
		if err != nil {
			return err
		}
		shape, err := o.shapeFor(body)
		if err != nil {
			return err
		}
		f := scan(o.config, shape, body)
		fmt.Fprintf(w, "%s\n", file)
		f.print(w, o.full)
		prints = append(prints, f)
	}
	if len(prints) == 2 {
		compare(w, prints[0], prints[1])
	}
	return nil
}

func read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(file)
}

// shapeFor returns the shape that was asked for, or else the first that finds a prompt in the body.
func (o options) shapeFor(body []byte) (prefix.Shape, error) {
	if o.shape != "" {
		if s, ok := prefix.ParseShape(o.shape); ok {
			return s, nil
		}
		return 0, fmt.Errorf("unknown shape %q", o.shape)
	}
	if o.path != "" {
		if s := prefix.ShapeOf(o.path); s != 0 {
			return s, nil
		}
		return 0, fmt.Errorf("no shape for the path %q", o.path)
	}
	if strings.Contains(string(body), `"system"`) && strings.Contains(string(body), `"max_tokens"`) {
		if scan(o.config, prefix.Messages, body).reason == prefix.ReasonNone {
			return prefix.Messages, nil
		}
	}
	for s := prefix.Chat; s.String() != "none"; s++ {
		if scan(o.config, s, body).reason == prefix.ReasonNone {
			return s, nil
		}
	}
	return prefix.Chat, nil
}
