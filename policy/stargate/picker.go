// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"sort"
	"time"
)

// The limits of rings where Limits doesn't say otherwise.
const (
	defaultRingBytes     = 1 << 20
	defaultMaxRingPoints = 1 << 16
)

// Limits bound what a Picker keeps. The zero value has the defaults.
type Limits struct {
	RingBytes     int       // of all rings together; 0: 1 MiB; negative: no ring at all
	MaxRingPoints int       // virtual nodes × endpoints of one ring; 0: 65,536
	Reduced       func(int) // told the number of virtual nodes of a ring that got fewer than asked for; may be nil
}

// Picker picks endpoints. It holds the scratch of one pick and all rings of a
// VM. It is not safe for concurrent use.
type Picker struct {
	rings         rings
	maxRingPoints int
	reduced       func(int)

	// One pick.
	query     Query
	d         *Definition
	r         *Request
	endpoints []Endpoint
	excluded  []bool    // by position: failed, or chosen by this pick
	order     []uint64  // by position: the place in the request's random order
	queues    []float64 // by position: ms
	fastest   ranking   // by expected time to the first token as buckets are formed by, negated
	ranking   ranking   // pulsar's
	fields    fields
	members   []int32
	subset    []int32
	clockwise []int32 // eligible endpoints in the order of affinity
	skip      []bool
	distances []uint64
	byKey     byKey
}

// NewPicker returns a picker.
func NewPicker(l Limits) *Picker {
	if l.RingBytes == 0 {
		l.RingBytes = defaultRingBytes
	}
	if l.MaxRingPoints == 0 {
		l.MaxRingPoints = defaultMaxRingPoints
	}
	return &Picker{rings: rings{limit: l.RingBytes}, maxRingPoints: l.MaxRingPoints, reduced: l.Reduced}
}

// Query is what a pick is made of.
type Query struct {
	Definition *Definition
	Instance   *Instance // of the target and Definition; only wait-and-widen needs it
	Request    *Request
	Endpoints  []Endpoint // sorted by ID
	Want       int        // how many choices, the first and those to fall back to
}

// Limit bounds the points of the rings that are built from now on, as
// Limits.MaxRingPoints does.
func (p *Picker) Limit(maxRingPoints int) { p.maxRingPoints = maxRingPoints }

// Pick appends up to q.Want positions of endpoints, best first, each once; none
// if none can be chosen.
func (p *Picker) Pick(dst []int, q Query) ([]int, Outcome) {
	p.begin(q)
	var first Outcome
	for n := range q.Want {
		position, outcome := p.next()
		if position < 0 {
			break
		}
		if n == 0 {
			first = outcome
		}
		p.excluded[position] = true
		dst = append(dst, int(position))
	}
	return dst, first
}

// begin computes what all choices of a pick share.
func (p *Picker) begin(q Query) {
	p.query, p.d, p.r, p.endpoints = q, q.Definition, q.Request, q.Endpoints
	p.excluded, p.order = p.excluded[:0], p.order[:0]
	for n := range q.Endpoints {
		p.excluded = append(p.excluded, q.Endpoints[n].Excluded)
		p.order = append(p.order, shuffled(p.r.Draw, uint64(n)))
	}
	if p.d.name == WaitAndWiden || p.d.name == PulsarWaitAndWiden {
		p.estimate()
	}
	if p.d.name == WaitAndWiden {
		p.walk()
	}
	if p.d.Ranks() {
		p.score()
	}
}

// next returns the best of what is left.
func (p *Picker) next() (int32, Outcome) {
	var position int32
	switch p.d.name {
	case Pulsar:
		return p.nextRanked()
	case PulsarWaitAndWiden:
		return p.nextInBands()
	case WaitAndWiden:
		position = p.widen(p.affinity(), p.better)
		if position < 0 {
			position = p.widen(p.eligible(), p.better)
		}
	default:
		position = p.best(p.eligible(), p.d.samples, p.better)
	}
	if position < 0 {
		return position, Outcome{}
	}
	return position, Outcome{RankDepth: 1}
}

// eligible returns the positions of what is not excluded.
func (p *Picker) eligible() []int32 {
	p.members = p.members[:0]
	for i := range p.endpoints {
		if !p.excluded[i] {
			p.members = append(p.members, int32(i))
		}
	}
	return p.members
}

// better compares two positions by the definition's comparator.
func (p *Picker) better(a, b int32) int {
	return p.d.comparator.compare(&p.endpoints[a], &p.endpoints[b], p.r)
}

// emptier compares two positions as pulsar-wait-and-widen does.
func (p *Picker) emptier(a, b int32) int {
	return compareFill(&p.endpoints[a], &p.endpoints[b], p.r)
}

// best returns the best of a sample of members, which it reorders; -1 if there
// are none. Ties go to the earlier one in the request's random order, which
// gives each the same chance.
func (p *Picker) best(members []int32, samples uint64, compare func(a, b int32) int) int32 {
	if len(members) == 0 {
		return -1
	}
	if samples < uint64(len(members)) {
		members = p.firstOf(members, int(samples))
	}
	best := members[0]
	for _, m := range members[1:] {
		c := compare(m, best)
		if c < 0 || c == 0 && p.order[m] < p.order[best] {
			best = m
		}
	}
	return best
}

// firstOf returns the k members that come first in the random order, which is
// a uniform sample. Samples of up to maxSamples are kept in order while the
// members go by.
func (p *Picker) firstOf(members []int32, k int) []int32 {
	if k > maxSamples {
		p.sorted(members, p.order)
		return members[:k]
	}
	for i, m := range members {
		at := min(i, k)
		if at == k && p.order[m] > p.order[members[k-1]] {
			continue
		}
		at = min(at, k-1)
		for ; at > 0 && p.order[m] < p.order[members[at-1]]; at-- {
			members[at] = members[at-1]
		}
		members[at] = m
	}
	return members[:k]
}

// sorted sorts positions by their keys, equal ones by position.
func (p *Picker) sorted(positions []int32, keys []uint64) {
	p.byKey = byKey{positions, keys}
	sort.Sort(&p.byKey)
}

// byKey is positions and their keys, by position.
type byKey struct {
	positions []int32
	keys      []uint64
}

func (b *byKey) Len() int      { return len(b.positions) }
func (b *byKey) Swap(i, j int) { b.positions[i], b.positions[j] = b.positions[j], b.positions[i] }
func (b *byKey) Less(i, j int) bool {
	x, y := b.positions[i], b.positions[j]
	if b.keys[x] != b.keys[y] {
		return b.keys[x] < b.keys[y]
	}
	return x < y
}

// shuffled returns the place of position n in the order that draw stands for:
// the output function of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), which
// gives different n different places.
func shuffled(draw, n uint64) uint64 {
	z := draw + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
