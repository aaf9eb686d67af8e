// SPDX-License-Identifier: Apache-2.0

// Command straighten makes the plugin's module faster and smaller: it turns the
// jumps that the Go compiler leads through tables into branches.
//
//	go run ./build/straighten in.wasm out.wasm
//
// A table costs an indirect branch for each jump, which a processor guesses
// wrong whenever other code has run in between, as Envoy's has; and it hides
// from V8 where the code goes, so that each jump stores and loads what the
// function has in registers. Jumps back that make loops which overlap, and Go
// code hardly has those, stay as they are.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "straighten:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("want two arguments: the module, and where to write the straightened one")
	}
	module, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	if module, err = straighten(module); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[1], module, 0o644)
}

const (
	header      = "\x00asm\x01\x00\x00\x00"
	codeSection = 10
)

// straighten returns the module with the jumps of all its functions straightened.
func straighten(module []byte) ([]byte, error) {
	if !bytes.HasPrefix(module, []byte(header)) {
		return nil, errors.New("not a WebAssembly module, version 1")
	}
	out := []byte(header)
	r := &reader{all: module, at: len(header)}
	for r.more() {
		id, data := r.byte(), r.sized()
		if id == codeSection {
			var err error
			if data, err = straightenCode(data); err != nil {
				return nil, err
			}
		}
		out = appendSized(append(out, id), data)
	}
	return out, r.err
}

func straightenCode(data []byte) ([]byte, error) {
	r := &reader{all: data}
	n := r.number()
	out := appendNumber(make([]byte, 0, len(data)), n)
	for i := range n {
		body, err := straightenBody(r.sized())
		if err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		out = appendSized(out, body)
	}
	return out, r.err
}

func straightenBody(body []byte) ([]byte, error) {
	f, err := parse(body)
	if f == nil || err != nil {
		return body, err
	}
	return f.straightened()
}
