// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A report is the demo's page: one file that needs nothing else.
type report struct {
	Workload *workload
	Envoy    string
	Results  []result
	Claims   []claim
}

//go:embed report.html
var pageText string

var pageTemplate = template.Must(template.New("report.html").Funcs(template.FuncMap{
	"tokens": tokens, "seconds": seconds,
	"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
}).Parse(pageText))

// write renders the page into a file.
func (r *report) write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := pageTemplate.Execute(out, r); err != nil {
		return err
	}
	return out.Close()
}

// The methods below are what the page shows.

// Title names the workload.
func (r *report) Title() string { return r.Workload.title }

// About describes the workload.
func (r *report) About() []string { return r.Workload.about }

// Engines describes the simulated engines.
func (r *report) Engines() string {
	e := r.Workload.engine
	return fmt.Sprintf("%d simulated engines, each with a KV cache of %d tokens, a prefill of %.0f tokens per second "+
		"(first come, first served) and a decode of %.0f tokens per second and request. Time runs %.0f times as fast; "+
		"figures are in simulated time.", engines, e.cacheTokens, e.prefillRate, e.decodeRate, r.Workload.scale)
}

// Bars are the figures in which less is better.
func (r *report) Bars() []barChart {
	return []barChart{
		newBarChart("Prefilled tokens", r.Results, func(x *result) float64 { return float64(x.Prefilled) / 1e6 }, "%.2f M"),
		newBarChart("Mean time to first token", r.Results, func(x *result) float64 { return x.Mean().Seconds() }, "%.2f s"),
		newBarChart("99th percentile", r.Results, func(x *result) float64 { return x.Percentile(99).Seconds() }, "%.2f s"),
	}
}

// HitRatios are shown apart: more is better.
func (r *report) HitRatios() barChart {
	chart := newBarChart("Prefix hit ratio", r.Results, func(x *result) float64 { return 100 * x.HitRatio() }, "%.1f %%")
	for i := range chart.Bars {
		chart.Bars[i].Width = share(r.Results[i].HitRatio(), 1)
	}
	return chart
}

// Balance shows how many requests each engine got, a group per balancer.
func (r *report) Balance() []barChart {
	most := 0
	for i := range r.Results {
		most = max(most, slices.Max(r.Results[i].PerEngine))
	}
	var out []barChart
	for i := range r.Results {
		chart := barChart{Title: "Requests per engine, " + r.Results[i].Name}
		for e, n := range r.Results[i].PerEngine {
			chart.Bars = append(chart.Bars, bar{
				Label: fmt.Sprintf("engine %d", e+1), Series: i, Width: share(float64(n), float64(most)), Text: fmt.Sprint(n),
			})
		}
		out = append(out, chart)
	}
	return out
}

// Distribution shows which share of requests had its first token by when.
func (r *report) Distribution() *lineChart {
	var slowest time.Duration
	for i := range r.Results {
		slowest = max(slowest, r.Results[i].Percentile(100))
	}
	chart := newLineChart("Share of requests whose first token came within …",
		logScale("time since the request", 0.01, max(0.1, slowest.Seconds())), linearScale("", 0, 100, "%.0f %%"))
	for i := range r.Results {
		first := r.Results[i].First
		line := chart.line(i, r.Results[i].Name)
		for n, d := range first {
			line.add(max(0.01, d.Seconds()), 100*float64(n+1)/float64(len(first)))
		}
	}
	return chart
}

// Course shows the mean time to first token of the requests sent in each
// twentieth of the longest replay.
func (r *report) Course() *lineChart {
	const parts = 20
	var end time.Duration
	for i := range r.Results {
		for _, o := range r.Results[i].outcomes {
			end = max(end, o.sent+1)
		}
	}
	means := make([][parts]float64, len(r.Results))
	highest := 0.1
	for i := range r.Results {
		means[i] = courseOf(r.Results[i].outcomes, end)
		highest = max(highest, slices.Max(means[i][:]))
	}
	chart := newLineChart("Mean time to first token over the run",
		linearScale("when the request was sent", 0, end.Seconds(), "%.0f s"), linearScale("", 0, highest, "%.1f s"))
	for i := range r.Results {
		line := chart.line(i, r.Results[i].Name)
		for part, mean := range means[i] {
			line.add(end.Seconds()*(float64(part)+0.5)/parts, mean)
		}
	}
	return chart
}

func courseOf(outcomes []outcome, end time.Duration) (means [20]float64) {
	var counts [len(means)]float64
	for _, o := range outcomes {
		if o.err == nil {
			part := int(o.sent * time.Duration(len(means)) / end)
			means[part] += o.firstToken.Seconds()
			counts[part]++
		}
	}
	for part := range means {
		means[part] /= max(1, counts[part])
	}
	return means
}
