// SPDX-License-Identifier: Apache-2.0

package load

import "time"

const (
	// historyTicks covers two seconds: statistics that are older when they
	// arrive have lost half of their weight.
	historyTicks = 40
	// historyStep is the least time between two of them, a little below the 50 ms
	// of a tick, so that faster ticks don't shorten what they cover.
	historyStep = 40 * time.Millisecond
)

// history is when the last ticks of a view were, a ring. Each endpoint keeps
// what this gateway had on it at these ticks, so that statistics are compared
// with what was in flight when the engine spoke, not when its words arrived:
// a request of ours that came in between would hide a foreign one, and one
// that ended in between would be counted as foreign.
type history struct {
	ticks [historyTicks]time.Duration
	next  int
}

// sums is a Share in half its size.
type sums struct{ queued, inFlight float32 }

// remember notes the sums of this moment.
func (v *View) remember(now time.Duration) {
	at := v.history.next
	if now-v.history.ticks[v.history.last()] < historyStep {
		return
	}
	v.history.next = (at + 1) % historyTicks
	v.history.ticks[at] = now
	for _, e := range v.endpoints {
		ours := e.ours()
		e.past[at] = sums{float32(ours.Queued), float32(ours.InFlight)}
	}
}

// last is the place of the newest tick.
func (h *history) last() int { return (h.next + historyTicks - 1) % historyTicks }

// ours is what this gateway has on e: own streams and those of other workers.
func (e *Endpoint) ours() Share {
	return Share{
		Queued:   float64(e.queued) + e.others.Queued,
		InFlight: float64(e.inFlight) + e.others.InFlight,
	}
}

// oursAt is what this gateway had on e at the last tick before that moment: the
// sums of now if there was none since, the oldest known for one further back.
func (v *View) oursAt(e *Endpoint, at time.Duration) Share {
	h := &v.history
	found := h.last()
	if at >= h.ticks[found] {
		return e.ours()
	}
	for range historyTicks - 1 {
		before := (found + historyTicks - 1) % historyTicks
		if h.ticks[found] <= at || h.ticks[before] == 0 || h.ticks[before] > h.ticks[found] {
			break
		}
		found = before
	}
	s := e.past[found]
	return Share{Queued: float64(s.queued), InFlight: float64(s.inFlight)}
}
