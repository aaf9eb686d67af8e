// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// A progress shows how far a replay is: a bar on a terminal, a line for every
// fifth elsewhere. Safe for concurrent use.
type progress struct {
	out      io.Writer
	terminal bool
	label    string
	total    int

	mu    sync.Mutex
	done  int
	shown int // what the last line or bar said, in percent
}

func newProgress(out *os.File, label string, total int) *progress {
	info, err := out.Stat()
	return &progress{
		out: out, label: label, total: total, shown: -1,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
	}
}

// step counts one request.
func (p *progress) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	percent := 100 * p.done / p.total
	if percent == p.shown {
		return
	}
	switch {
	case p.terminal:
		filled := percent * 30 / 100
		fmt.Fprintf(p.out, "\r  %-14s [%s%s] %3d %%", p.label, strings.Repeat("█", filled), strings.Repeat("·", 30-filled), percent)
		if p.done == p.total {
			fmt.Fprintln(p.out)
		}
	case percent%20 == 0:
		fmt.Fprintf(p.out, "  %s: %d %%\n", p.label, percent)
	}
	p.shown = percent
}
