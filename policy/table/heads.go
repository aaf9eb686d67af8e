// SPDX-License-Identifier: Apache-2.0

package table

import "time"

const (
	// gapWeight is the weight of the latest gap in the moving average: some
	// eight arrivals are remembered, and the rate of Poisson arrivals is right
	// within a quarter (one standard deviation).
	gapWeight = 1.0 / 8
	// minGap is the shortest mean gap, in milliseconds: the clock's resolution
	// shows nothing shorter.
	minGap = 1.0 / 16
	// silence is how many mean gaps pass without an arrival before the rate
	// begins to fall: with Poisson arrivals fewer than 2 % of gaps are longer.
	silence = 4
)

// Arrive notes a request whose head ends with the block head. Heads are
// remembered as long as an endpoint holds them: the first arrival of all, before
// anything is learnt, leaves no trace.
func (t *Table) Arrive(head, tag uint64, now time.Duration) {
	id := t.find(key{hash: head, tag: tag})
	if id == 0 {
		return
	}
	s := &t.slots[id]
	ms := t.tick(now)
	if s.arrived {
		gap := max(float32(ms-s.last), minGap)
		if s.gap == 0 {
			s.gap = gap
		}
		s.gap += float32(gapWeight * (gap - s.gap))
	}
	s.last, s.arrived = ms, true
}

// Rate returns the arrivals per second of a head: the reciprocal of the moving
// average of its gaps, falling once the head stays away for more than four of
// them. 0 while no gap has been seen.
func (t *Table) Rate(head, tag uint64, now time.Duration) float64 {
	s := &t.slots[t.find(key{hash: head, tag: tag})]
	if s.gap == 0 {
		return 0
	}
	since := float64(t.tick(now) - s.last)
	return 1000 / max(float64(s.gap), since/silence)
}
