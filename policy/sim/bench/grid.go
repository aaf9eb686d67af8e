// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/kvsteer/kvsteer/policy/sim"
)

// cell says what a table shows of a run.
type cell func(sim.Report) string

func mean(r sim.Report) string { return seconds(r.MeanFirstToken) }
func p99(r sim.Report) string  { return seconds(r.P99FirstToken) }
func hits(r sim.Report) string { return fmt.Sprintf("%.3f", r.HitRatio) }

func meanAndImbalance(r sim.Report) string {
	return fmt.Sprintf("%s (%.1f)", seconds(r.MeanFirstToken), r.Imbalance)
}

func meanAndMoved(r sim.Report) string {
	return fmt.Sprintf("%s (%.2f)", seconds(r.MeanFirstToken), r.MovedShare)
}

func meanAndEarly(r sim.Report) string {
	return fmt.Sprintf("%s (%.2f early, %.2f awaited)", seconds(r.MeanFirstToken), r.EarlyShare, r.AwaitedShare)
}

// seconds are printed with the digits that mean something; many mean overload.
func seconds(s float64) string {
	switch {
	case s >= 100:
		return fmt.Sprintf("%.0f", s)
	case s >= 10:
		return fmt.Sprintf("%.1f", s)
	}
	return fmt.Sprintf("%.3f", s)
}

// grid is a study's outcome: reports by row and column.
type grid struct {
	study
	reports [][]sim.Report
}

// play runs all cells of a study.
func (s study) play(folder string) (grid, error) {
	g := grid{study: s, reports: make([][]sim.Report, len(s.rows))}
	for _, c := range s.columns {
		traces, err := s.traces(folder, c)
		if err != nil {
			return g, err
		}
		for row, name := range s.rows {
			r, err := s.run(name, c, traces)
			if err != nil {
				return g, fmt.Errorf("%s, %s: %w", name, c.title, err)
			}
			g.reports[row] = append(g.reports[row], r)
		}
	}
	return g, nil
}

// traces are those of a column, one for each seed.
func (s study) traces(folder string, c column) ([]sim.Trace, error) {
	var out []sim.Trace
	for seed := range s.seeds {
		t, err := loadTrace(folder, c.load, uint64(seed+1))
		if err != nil {
			return nil, err
		}
		if c.speed > 0 {
			t = t.Scale(c.speed)
		}
		out = append(out, t)
	}
	return out, nil
}

// run plays one cell and returns the mean of its seeds.
func (s study) run(name string, c column, traces []sim.Trace) (sim.Report, error) {
	config := s.config
	policy, off, _ := strings.Cut(name, " -")
	m, ok := sim.Find(policy)
	if !ok {
		return sim.Report{}, fmt.Errorf("no policy is called %q", policy)
	}
	config.Policy = m
	if off != "" {
		config.Options.Off = []string{off}
	}
	if c.change != nil {
		c.change(&config)
	}
	var sum sim.Report
	n := float64(len(traces))
	for seed, t := range traces {
		config.Trace, config.Seed = t, uint64(seed+1)
		r, err := sim.Run(config)
		if err != nil {
			return r, err
		}
		sum.MeanFirstToken += r.MeanFirstToken / n
		sum.P99FirstToken += r.P99FirstToken / n
		sum.HitRatio += r.HitRatio / n
		sum.Imbalance += r.Imbalance / n
		sum.MovedShare += r.MovedShare / n
		sum.EarlyShare += r.EarlyShare / n
		sum.AwaitedShare += r.AwaitedShare / n
	}
	return sum, nil
}

// print writes the grid as Markdown tables.
func (g grid) print(w io.Writer) {
	for _, t := range g.tables {
		g.printTable(w, t)
	}
}

func (g grid) printTable(w io.Writer, t table) {
	fmt.Fprintf(w, "\n### %s: %s\n\n|", g.title, t.title)
	for _, c := range g.columns {
		fmt.Fprintf(w, " | %s", c.title)
	}
	fmt.Fprintf(w, " |\n|---%s|\n", strings.Repeat("|---", len(g.columns)))
	for row, name := range g.rows {
		if name == "prefix-aware" {
			name = "**prefix-aware**"
		}
		fmt.Fprintf(w, "| %s", name)
		for _, r := range g.reports[row] {
			fmt.Fprintf(w, " | %s", t.cell(r))
		}
		fmt.Fprintln(w, " |")
	}
}
