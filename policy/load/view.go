// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"strings"
	"time"
)

// View is the load of one pool. The zero value is a pool without endpoints.
type View struct {
	FarFactor    float64 // how many times as much an endpoint in another zone costs; 0 = 1
	WaitingLimit int     // requests waiting in an engine from which it counts as full; 0 = it never does

	endpoints    []*Endpoint // sorted by ID
	quotes       []Quote     // of the same endpoints in the same order
	closed       int         // quotes that aren't Ready
	prefill      Estimate    // prefill rate of its endpoints
	meanUncached float64     // moving average of the uncached prompt tokens of our picks
	reported     time.Duration
	history      history
}

func (v *View) farFactor() float64 {
	if v.FarFactor == 0 {
		return 1
	}
	return v.FarFactor
}

// Quotes are those of Endpoints, in the same order.
func (v *View) Quotes() []Quote { return v.quotes }

// AllReady reports whether all endpoints may be chosen.
func (v *View) AllReady() bool { return v.closed == 0 }

// Endpoints are sorted by ID and valid until the next SetEndpoints.
func (v *View) Endpoints() []*Endpoint { return v.endpoints }

// Find is the listed endpoint with this ID, nil if there is none.
func (v *View) Find(id string) *Endpoint {
	i, ok := v.search(id)
	if !ok {
		return nil
	}
	return v.endpoints[i]
}

func (v *View) search(id string) (int, bool) {
	return slices.BinarySearchFunc(v.endpoints, id, func(e *Endpoint, id string) int {
		return strings.Compare(e.ID, id)
	})
}

// Change tells what SetEndpoints did. The slices are the caller's.
type Change struct {
	Added, Removed []*Endpoint
}

// SetEndpoints makes specs the endpoints of the pool; of specs with one ID the
// last counts. Endpoints that stay keep their address, statistics, rates and
// flights. A configured rate replaces a learnt one and the other way round.
func (v *View) SetEndpoints(specs []Spec) Change {
	var c Change
	next := make([]*Endpoint, 0, len(specs))
	for _, s := range specs {
		e := v.Find(s.ID)
		if e == nil {
			e = newEndpoint(v, s)
		}
		if e.Rate != s.Rate {
			e.Prefill = NewRate(&v.prefill, s.Rate)
		}
		e.Spec = s
		next = append(next, e)
	}
	// Reversed and stable, so that the last of equal IDs comes first and stays.
	slices.Reverse(next)
	slices.SortStableFunc(next, func(a, b *Endpoint) int { return strings.Compare(a.ID, b.ID) })
	next = slices.CompactFunc(next, func(a, b *Endpoint) bool { return a.ID == b.ID })
	old := v.endpoints
	v.endpoints = next
	for _, e := range old {
		if v.Find(e.ID) != e {
			e.view = nil
			c.Removed = append(c.Removed, e)
		}
	}
	v.quotes, v.closed = make([]Quote, len(next)), 0
	for at, e := range next {
		if e.Index == unplaced {
			e.Index = None
			c.Added = append(c.Added, e)
		}
		e.at = at
		e.publish()
	}
	return c
}

// unplaced marks an endpoint that SetEndpoints has just made.
const unplaced = -2

func newEndpoint(v *View, s Spec) *Endpoint {
	e := &Endpoint{Spec: s, Index: unplaced, view: v}
	if v.prefill.value == 0 {
		v.prefill = NewEstimate(PrefillPrior(), 0)
	}
	e.Prefill = NewRate(&v.prefill, s.Rate)
	e.flights.next, e.flights.prev = &e.flights, &e.flights
	return e
}

// Report takes what an engine said of itself. Requests it shows beyond our own
// and the other workers' at that moment are external: of them at most
// Stats.Waiting still wait, each with as many tokens as our picks have on
// average, unless the engine counts its queued tokens itself.
func (v *View) Report(e *Endpoint, s Stats) {
	e.Stats = s
	ours := v.oursAt(e, s.At)
	foreign := max(0, s.Waiting+s.Running-ours.InFlight)
	e.foreign = Share{Queued: min(foreign, s.Waiting) * v.meanUncached, InFlight: foreign}
	if s.QueuedTokens > 0 {
		e.foreign.Queued = max(0, s.QueuedTokens-ours.Queued)
	}
	e.derive(s.At)
	v.reported = max(v.reported, s.At)
}

// Age is how old the statistics are that the view rests on: the time since an
// engine of the pool was last heard of. 0 where none ever was, or so long ago
// that what it said has lost its weight: nothing in the view is old then.
func (v *View) Age(now time.Duration) time.Duration {
	age := max(now-v.reported, 0)
	if v.reported == 0 || age >= unknownAfter {
		return 0
	}
	return age
}

// Tick takes the tokens of flights whose prefill has ended by estimate off
// their endpoints, derives every sum anew from the live flights, fades what is
// external by its age, and remembers the sums for statistics of this moment that
// are yet to come. Between two ticks picks read these numbers as they are.
// Cost: O(endpoints + flights); call it from the tick.
func (v *View) Tick(now time.Duration) {
	for _, e := range v.endpoints {
		e.queued, e.inFlight = 0, 0
		for f := e.flights.next; f != &e.flights; f = f.next {
			if f.due != 0 && now >= f.due {
				f.tokens = 0
			}
			e.queued += f.tokens
			e.inFlight++
		}
		e.derive(now)
	}
	v.remember(now)
}
