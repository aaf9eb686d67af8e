// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strings"
)

// A barChart is drawn with boxes; Series chooses the colour.
type barChart struct {
	Title string
	Bars  []bar
}

type bar struct {
	Label  string
	Series int
	Width  float64 // percent
	Text   string
}

// newBarChart draws one bar per result, the longest over the whole width.
func newBarChart(title string, results []result, value func(*result) float64, format string) barChart {
	most := 0.0
	for i := range results {
		most = max(most, value(&results[i]))
	}
	chart := barChart{Title: title}
	for i := range results {
		v := value(&results[i])
		chart.Bars = append(chart.Bars, bar{
			Label: results[i].Name, Series: i, Width: share(v, most), Text: fmt.Sprintf(format, v),
		})
	}
	return chart
}

// share returns v in percent of most.
func share(v, most float64) float64 {
	if most == 0 {
		return 0
	}
	return math.Round(1000*v/most) / 10
}

// A lineChart is lines in SVG, stretched to the width there is, with labels in
// HTML, which keep their size. Both place things in percent of the plot, from
// its left and its top.
type lineChart struct {
	Title string
	X, Y  axis
	Lines []*line
}

type line struct {
	chart  *lineChart
	Series int
	Name   string
	points strings.Builder
}

// An axis maps values to 0…1 and has ticks.
type axis struct {
	Name  string // "": the chart's title tells
	Ticks []tick
	place func(float64) float64
}

type tick struct {
	At    float64 // percent
	Label string
}

func newLineChart(title string, x, y axis) *lineChart {
	for i := range y.Ticks {
		y.Ticks[i].At = 100 - y.Ticks[i].At
	}
	return &lineChart{Title: title, X: x, Y: y}
}

func (a *axis) tick(value float64, format string) {
	a.Ticks = append(a.Ticks, tick{share(a.place(value), 1), fmt.Sprintf(format, value)})
}

func (c *lineChart) line(series int, name string) *line {
	l := &line{chart: c, Series: series, Name: name}
	c.Lines = append(c.Lines, l)
	return l
}

func (l *line) add(x, y float64) {
	fmt.Fprintf(&l.points, "%.2f,%.2f ", 100*l.chart.X.place(x), 100*(1-l.chart.Y.place(y)))
}

// Points returns the line's points as SVG wants them.
func (l *line) Points() string { return l.points.String() }

// linearScale has about five round ticks.
func linearScale(name string, low, high float64, format string) axis {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, factor := range []float64{5, 2} {
		if (high-low)/(step*factor) >= 4 {
			step *= factor
			break
		}
	}
	a := axis{Name: name, place: func(v float64) float64 { return (v - low) / (high - low) }}
	for v := low; v <= high*1.0001; v += step {
		a.tick(v, format)
	}
	return a
}

// logScale has a tick at each power of ten and at its threefold, in seconds.
func logScale(name string, low, high float64) axis {
	a := axis{Name: name + ", logarithmic", place: func(v float64) float64 { return math.Log(v/low) / math.Log(high/low) }}
	for decade := low; decade <= high; decade *= 10 {
		for _, v := range []float64{decade, 3 * decade} {
			if v <= high {
				a.tick(v, "%.3g s")
			}
		}
	}
	return a
}
