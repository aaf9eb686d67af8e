// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// Sizes of a picture, in pixels.
const (
	panelWidth  = 220
	barHeight   = 13
	labelWidth  = 210
	titleHeight = 46
	barMost     = 120
)

// mostTimes is where bars end: this many times the best.
const mostTimes = 16.0

// picture draws the mean first tokens as SVG: a panel for each column, a bar
// for each policy, by the logarithm of how many times as long as the best of
// the column it takes.
func (g grid) picture() []byte {
	var b bytes.Buffer
	width := labelWidth + panelWidth*len(g.columns)
	height := titleHeight + barHeight*len(g.rows) + 20
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="10">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="6" y="16" font-size="12">%s</text>`+"\n", html.EscapeString(g.title))
	for row, name := range g.rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", labelWidth-6, titleHeight+row*barHeight+10, html.EscapeString(name))
	}
	for col, c := range g.columns {
		g.panel(&b, col, c)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// panel draws one column.
func (g grid) panel(b *bytes.Buffer, col int, c column) {
	left := labelWidth + col*panelWidth
	fmt.Fprintf(b, `<text x="%d" y="36" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(c.title))
	best := math.Inf(1)
	for row := range g.rows {
		best = min(best, g.reports[row][col].MeanFirstToken)
	}
	for row, name := range g.rows {
		s := g.reports[row][col].MeanFirstToken
		length := barMost * math.Log(min(s/best, mostTimes)) / math.Log(mostTimes)
		colour := "#9ab"
		if name == "prefix-aware" {
			colour = "#e60"
		}
		y := titleHeight + row*barHeight
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s s</text>`+"\n",
			left, y, 2+length, barHeight-3, colour, float64(left)+6+length, y+9, seconds(s))
	}
}
