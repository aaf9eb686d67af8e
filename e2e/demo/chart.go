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

// The drawing area of a lineChart in its own units.
const (
	plotWidth  = 640.0
	plotHeight = 240.0
)

// A lineChart is drawn as SVG.
type lineChart struct {
	X, Y   axis
	Lines  []*line
	Width  float64
	Height float64
}

type line struct {
	chart  *lineChart
	Series int
	Name   string
	points strings.Builder
}

// An axis maps values to 0…1 and has ticks.
type axis struct {
	place func(float64) float64
	ticks []tick
}

type tick struct {
	At    float64
	Label string
}

func newLineChart(x, y axis) *lineChart {
	for i := range x.ticks {
		x.ticks[i].At *= plotWidth
	}
	for i := range y.ticks {
		y.ticks[i].At = plotHeight * (1 - y.ticks[i].At)
	}
	return &lineChart{X: x, Y: y, Width: plotWidth, Height: plotHeight}
}

// Ticks returns the axis' ticks, placed.
func (a axis) Ticks() []tick { return a.ticks }

func (c *lineChart) line(series int, name string) *line {
	l := &line{chart: c, Series: series, Name: name}
	c.Lines = append(c.Lines, l)
	return l
}

func (l *line) add(x, y float64) {
	fmt.Fprintf(&l.points, "%.1f,%.1f ", plotWidth*l.chart.X.place(x), plotHeight*(1-l.chart.Y.place(y)))
}

// Points returns the line's points as SVG wants them.
func (l *line) Points() string { return l.points.String() }

// linearScale has about five round ticks.
func linearScale(low, high float64, format string) axis {
	place := func(v float64) float64 { return (v - low) / (high - low) }
	step := math.Pow(10, math.Floor(math.Log10((high-low)/5)))
	for _, factor := range []float64{5, 2} {
		if (high-low)/(step*factor) >= 4 {
			step *= factor
			break
		}
	}
	a := axis{place: place}
	for v := low; v <= high*1.0001; v += step {
		a.ticks = append(a.ticks, tick{place(v), fmt.Sprintf(format, v)})
	}
	return a
}

// logScale has a tick at each power of ten and at its threefold, in seconds.
func logScale(low, high float64) axis {
	place := func(v float64) float64 { return math.Log(v/low) / math.Log(high/low) }
	a := axis{place: place}
	for decade := low; decade <= high; decade *= 10 {
		for _, v := range []float64{decade, 3 * decade} {
			if v <= high {
				a.ticks = append(a.ticks, tick{place(v), fmt.Sprintf("%.3g s", v)})
			}
		}
	}
	return a
}
