// SPDX-License-Identifier: Apache-2.0

package stargate

import "github.com/kvsteer/kvsteer/expr"

// Definition is an algorithm with its parameters. It is immutable, so requests
// may share it.
type Definition struct {
	name       string
	comparator Comparator
	samples    uint64 // of how many endpoints the comparator takes the best

	seed       string
	virtual    uint64 // ring points of an endpoint
	selection  uint64 // endpoints of the affinity subset; 0: no subset
	considerKV bool

	limited       bool // floor and ceil are both set
	floor, ceil   float64
	bucket        float64 // ms
	factor        float64
	maxQueued     uint64
	ignoreQueue   bool
	ignorePrefill bool

	maxWork float64 // seconds; 0: no limit
}

// Compile returns the definition of these settings. Of other packages'
// algorithms it reads the admission limit only, so that Admit serves them too.
func Compile(s *expr.Settings) *Definition {
	d := &Definition{
		name:       s.Algorithm(),
		comparator: Comparator(s.Uint(comparator)),
		samples:    s.Uint(sampleCount),

		seed:       s.Text(seed),
		virtual:    s.Uint(virtualNodes),
		selection:  s.Uint(selectionCount),
		considerKV: s.Bool(considerKV),

		limited:       s.Value(queueFloor).IsSet() && s.Value(queueCeil).IsSet(),
		floor:         float64(s.Uint(queueFloor)),
		ceil:          float64(s.Uint(queueCeil)),
		bucket:        float64(s.Uint(bucketSize)),
		factor:        s.Number(unlockFactor),
		maxQueued:     s.Uint(maxQueued),
		ignoreQueue:   s.Bool(ignoreQueue),
		ignorePrefill: s.Bool(ignorePrefill),

		maxWork: s.Number(maxWorkSeconds),
	}
	if d.name == WaitAndWiden || d.name == PulsarWaitAndWiden {
		d.samples = s.Uint(choices)
	}
	d.samples = max(d.samples, 1)
	return d
}

// Name returns the canonical name of the algorithm.
func (d *Definition) Name() string { return d.name }

// Comparator returns the comparator, if the algorithm has one.
func (d *Definition) Comparator() (c Comparator, ok bool) {
	return d.comparator, d.name == PowerOfN || d.name == WaitAndWiden
}

// Samples returns how many of n endpoints a pick compares.
func (d *Definition) Samples(n int) int { return int(min(d.samples, uint64(n))) }

// queueLimit returns the ms of queue that an endpoint may have: from floor to
// ceil as the request uses up its time.
func (d *Definition) queueLimit(r *Request) float64 {
	used := 1.0
	if r.SLO > 0 {
		used = min(max(milliseconds(r.Elapsed)/float64(r.SLO), 0), 1)
	}
	return d.floor + (d.ceil-d.floor)*used
}

// Instance is what an algorithm remembers of one target and definition.
type Instance struct {
	ring *ring // of wait-and-widen with affinity
}

// NewInstance returns the state of a target that has seen no request.
func NewInstance() *Instance { return new(Instance) }

// Limited reports whether Admit can refuse anything.
func (d *Definition) Limited() bool { return d.maxWork > 0 }

// Ranks reports whether the algorithm ranks endpoints by hash and rate, so that
// rates should be the same to all who rank.
func (d *Definition) Ranks() bool { return d.name == Pulsar || d.name == PulsarWaitAndWiden }

// UsesAffinity reports whether the affinity key has a part in the choice.
func (d *Definition) UsesAffinity() bool { return d.Ranks() || d.selection > 0 }
