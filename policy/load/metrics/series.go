// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"

	"github.com/kvsteer/kvsteer/policy/load/internal/decimal"
)

// MaxSeries is how many different series of known metrics a page may have.
const MaxSeries = 768

// tableSize is a power of two that leaves a quarter of the table empty.
const tableSize = 1024

// seriesTable remembers the value of each series, so that copies count once. Open addressing
// with linear probing; a key of 0 is a free place.
type seriesTable struct {
	keys   [tableSize]uint64
	values [tableSize]float64
	n      int
}

func (t *seriesTable) reset() {
	if t.n > 0 {
		clear(t.keys[:])
	}
	t.n = 0
}

// put stores the larger of v and what key has. It returns by how much the stored value grew and
// whether key is fresh; ok is false when the table is full.
func (t *seriesTable) put(key uint64, v float64) (growth float64, fresh, ok bool) {
	key |= 1
	i := key >> 32 % tableSize
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) % tableSize
	}
	if t.keys[i] == key {
		growth = max(0, v-t.values[i])
		t.values[i] += growth
		return growth, false, true
	}
	if t.n == MaxSeries {
		return 0, false, false
	}
	t.n++
	t.keys[i], t.values[i] = key, v
	return v, true, true
}

// accumulator makes one number of a field's series.
type accumulator struct {
	rule    rule
	rank    uint8
	n       int
	sum     float64
	largest float64
}

func (a *accumulator) value() float64 {
	switch a.rule {
	case mean:
		return a.sum / float64(a.n)
	case largest:
		return a.largest
	}
	return a.sum
}

// sample is one line of a known metric.
type sample struct {
	id     uint64 // hash of the labels that tell the series from others of its metric
	wanted bool   // the metric asks for series with these labels
	value  float64
}

// read takes the part of a line after the metric's name; ok is false where it is malformed or
// has no usable number.
func (m *metric) read(b []byte) (s sample, ok bool) {
	s.wanted = m.label == ""
	factor, times := 0.0, 0.0
	l := labels{rest: b}
	for l.next() {
		switch string(l.name) {
		case m.label:
			if string(l.value) == m.value {
				s.wanted = true
				continue
			}
		case m.factor:
			factor, _ = decimal.Parse(l.value)
		case m.times:
			times, _ = decimal.Parse(l.value)
		case m.part:
			if len(l.value) > 0 {
				return sample{}, true
			}
		}
		if len(l.value) > 0 && !isCopy(l.name) {
			// A sum, since labels may come in any order.
			s.id += hash(hash(offset64, l.name)^0xff, l.value)
		}
	}
	if l.bad || !s.wanted {
		return s, !l.bad
	}
	s.value, ok = readValue(l.rest)
	if m.factor != "" {
		s.value = factor * times
		return s, ok && s.value > 0
	}
	return s, ok && m.normalise(&s.value)
}

// normalise makes v a number of m's field; false where it is none.
func (m *metric) normalise(v *float64) bool {
	if *v < 0 {
		return false
	}
	if !m.field.ratio() {
		return true
	}
	switch {
	case m.percent || *v > 1.5:
		*v /= 100
	case *v > 1:
		*v = 1
	}
	return *v <= 1
}

// isCopy reports whether series that differ only in this label are copies of one another: all
// ranks of tensor, pipeline and expert parallelism print their scheduler's numbers.
func isCopy(label []byte) bool {
	switch string(label) {
	case "tp_rank", "pp_rank", "moe_ep_rank":
		return true
	}
	return false
}

// labels walks over {name="value",…}.
type labels struct {
	name, value []byte // the value as written, with its escapes
	rest        []byte
	started     bool
	bad         bool
}

// next goes to the next label. After the last, rest is what follows the labels.
func (l *labels) next() bool {
	b := trim(l.rest)
	if !l.started {
		l.started = true
		if len(b) == 0 || b[0] != '{' {
			l.rest = b
			return false
		}
		b = trim(b[1:])
	}
	if len(b) > 0 && b[0] == '}' {
		l.rest = b[1:]
		return false
	}
	end := bytes.IndexByte(b, '=')
	if end <= 0 {
		l.bad = true
		return false
	}
	l.name = trimRight(b[:end])
	b = trim(b[end+1:])
	end = quotedEnd(b)
	if end < 0 || len(l.name) == 0 {
		l.bad = true
		return false
	}
	l.value = b[1:end]
	b = trim(b[end+1:])
	if len(b) > 0 && b[0] == ',' {
		b = b[1:]
	} else if len(b) == 0 || b[0] != '}' {
		l.bad = true
		return false
	}
	l.rest = b
	return true
}

// quotedEnd returns the index of the quote that ends the string at b's begin, -1 for none.
func quotedEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

// readValue takes "value", "value timestamp" or either before " # exemplar".
func readValue(b []byte) (v float64, ok bool) {
	b = trim(b)
	v, ok = decimal.Parse(word(b))
	if !ok {
		return 0, false
	}
	b = trim(b[len(word(b)):])
	if len(b) > 0 && b[0] != '#' {
		if _, ok = decimal.Parse(word(b)); !ok {
			return 0, false
		}
		b = trim(b[len(word(b)):])
	}
	return v, len(b) == 0 || b[0] == '#'
}

// word returns b up to the first white space.
func word(b []byte) []byte {
	for i, c := range b {
		if c == ' ' || c == '\t' {
			return b[:i]
		}
	}
	return b
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

func trimRight(b []byte) []byte {
	for n := len(b); n > 0 && (b[n-1] == ' ' || b[n-1] == '\t' || b[n-1] == '\r'); n-- {
		b = b[:n-1]
	}
	return b
}

// FNV-1a: short inputs, no seed needed.
const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func hash(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * prime64
	}
	return h
}
