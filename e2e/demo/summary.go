// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// A result is what one balancer came to.
type result struct {
	Name      string
	Requests  int
	Failed    int
	Prompt    int // tokens of all prompts
	Prefilled int // of those, the tokens computed
	PerEngine []int
	Took      time.Duration   // real
	First     []time.Duration // times to first token, sorted
	Late      []time.Duration // how late requests were sent, sorted
	outcomes  []outcome
}

// summarize adds the clients' outcomes and the engines' sums up.
func summarize(name string, outcomes []outcome, engines []*engine.Engine) result {
	r := result{Name: name, Requests: len(outcomes), outcomes: outcomes}
	for _, o := range outcomes {
		r.Late = append(r.Late, o.late)
		if o.err != nil {
			r.Failed++
			continue
		}
		r.First = append(r.First, o.firstToken)
	}
	slices.Sort(r.First)
	slices.Sort(r.Late)
	for _, e := range engines {
		stats := e.Stats()
		r.Prompt += stats.Prompt
		r.Prefilled += stats.Prefilled
		r.PerEngine = append(r.PerEngine, stats.Requests)
	}
	return r
}

// HitRatio is the share of prompt tokens found in caches.
func (r *result) HitRatio() float64 { return 1 - float64(r.Prefilled)/float64(max(1, r.Prompt)) }

// Mean is the mean time to first token.
func (r *result) Mean() time.Duration {
	var sum time.Duration
	for _, d := range r.First {
		sum += d
	}
	return sum / time.Duration(max(1, len(r.First)))
}

// Percentile is the time to first token that p of 100 requests don't exceed.
func (r *result) Percentile(p float64) time.Duration { return percentile(r.First, p) }

func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(p/100*float64(len(sorted))+0.5) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// blurred is a warning where one request in a hundred, of any result, was sent so
// late that the figures tell little: by more than a quarter of the mean of the
// first result. "" where none is due.
func blurred(results []result) string {
	worst := time.Duration(0)
	for i := range results {
		worst = max(worst, percentile(results[i].Late, 99))
	}
	if worst <= results[0].Mean()/4 {
		return ""
	}
	return fmt.Sprintf("The machine was busy with other things: one request in a hundred was sent more than %s too late\n"+
		"(simulated), so these figures tell little. Try again when it is idle.", seconds(worst))
}

// printTable prints the results side by side.
func printTable(out io.Writer, results []result) error {
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(label string, cell func(*result) string) {
		fmt.Fprintf(t, "%s\t", label)
		for i := range results {
			fmt.Fprintf(t, "%s\t", cell(&results[i]))
		}
		fmt.Fprintln(t)
	}
	row("", func(r *result) string { return r.Name })
	row("requests", func(r *result) string { return fmt.Sprint(r.Requests) })
	row("failed", func(r *result) string { return fmt.Sprint(r.Failed) })
	row("prompt tokens", func(r *result) string { return tokens(r.Prompt) })
	row("prefilled tokens", func(r *result) string { return tokens(r.Prefilled) })
	row("prefix hit ratio", func(r *result) string { return fmt.Sprintf("%.1f %%", 100*r.HitRatio()) })
	row("first token, mean", func(r *result) string { return seconds(r.Mean()) })
	row("p50", func(r *result) string { return seconds(r.Percentile(50)) })
	row("p99", func(r *result) string { return seconds(r.Percentile(99)) })
	row("requests per engine", func(r *result) string { return fmt.Sprint(r.PerEngine) })
	row("real time", func(r *result) string { return fmt.Sprintf("%.0f s", r.Took.Seconds()) })
	return t.Flush()
}

func tokens(n int) string { return fmt.Sprintf("%.2f M", float64(n)/1e6) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// A claim is something the demo promises, and whether it came true.
type claim struct {
	Text string
	True bool
}

// claims judges kvsteer, the last result, by the others. Prefilled tokens and
// the 99th percentile are promised for the demo's own workload; of a trace it
// is the mean alone that is.
func claims(results []result, ownWorkload bool) []claim {
	steered, others := &results[len(results)-1], results[:len(results)-1]
	failed := 0
	for i := range results {
		failed += results[i].Failed
	}
	out := []claim{{"no request failed", failed == 0}}
	for i := range others {
		o := &others[i]
		out = append(out, claim{"mean time to first token below " + o.Name + "'s", steered.Mean() < o.Mean()})
		if ownWorkload {
			out = append(out, claim{"99th percentile below " + o.Name + "'s", steered.Percentile(99) < o.Percentile(99)})
		}
	}
	if ownWorkload {
		out = append(out, claim{"at most half of " + others[0].Name + "'s prefilled tokens", 2*steered.Prefilled <= others[0].Prefilled})
	}
	return out
}
