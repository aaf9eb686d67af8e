// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"
)

// A routed request for which no endpoint can be chosen is held for as long as
// its x-max-wait-ms says and picked for again from ticks, which come faster
// while there is any. Its callbacks keep Envoy from going on, so no byte of its
// body is lost, however much of it comes while it is held.

const (
	// holdPeriod is the tick while a request is held: the mean of the 1 to 9 ms
	// that the specification wants between two tries.
	holdPeriod = 5 * time.Millisecond

	// retriesPerTick bounds the work of one tick. What doesn't get its try in
	// one gets it in the next.
	retriesPerTick = 256
)

// mayHold reports whether the request may wait for an endpoint.
func (s *stream) mayHold(now time.Duration) bool {
	t := s.route
	if s.unheld || now-t.began >= t.maxWait {
		return false
	}
	return s.phase == held || s.filter.routed.held < t.options.MaxWaiting
}

// holdBack puts the request among those that wait for an endpoint, the most urgent
// first, then the one that came first. One that is there already stays.
func (s *stream) holdBack(how counter) {
	if s.phase == held {
		return
	}
	s.leave()
	f := s.filter
	s.phase, s.route.how = held, how
	at, _ := slices.BinarySearchFunc(f.router.held, s, byUrgency)
	f.router.held = slices.Insert(f.router.held, at, s)
	if f.routed.held++; len(f.router.held) == 1 {
		f.tickPeriod(holdPeriod)
		f.fast = true
	}
}

// byUrgency orders held requests. Of two that are alike the second of the
// comparison counts as the one that was there.
func byUrgency(a, b *stream) int {
	if c := cmp.Compare(a.route.request.Priority, b.route.request.Priority); c != 0 {
		return c
	}
	return cmp.Compare(a.route.arrival, b.route.arrival)
}

// letGo takes the request from those that are held.
func (s *stream) letGo() {
	f := s.filter
	if at, found := slices.BinarySearchFunc(f.router.held, s, byUrgency); found {
		f.router.held = slices.Delete(f.router.held, at, at+1)
		f.routed.held--
	}
}

// retryHeld picks again for those that are held.
func (f *filter) retryHeld(now time.Duration) {
	r := f.router
	if r == nil || !f.fast {
		return
	}
	for _, p := range f.pools {
		p.View().Tick(now)
	}
	if r.next >= len(r.held) {
		r.next = 0
	}
	for range min(len(r.held), retriesPerTick) {
		if r.next >= len(r.held) {
			break
		}
		s := r.held[r.next]
		s.retry(now)
		if s.phase == held {
			r.next++
		}
	}
	if len(r.held) == 0 {
		f.fast = false
		f.tickPeriod(tickPeriod)
	}
	f.setContext(f.id)
}

// retry picks again for a held request and lets it go if that, or the end of
// its time, decides it.
func (s *stream) retry(now time.Duration) {
	s.route.retries++
	s.filter.routed.metrics.add(waitRetries, 0, 0)
	r := s.known(now)
	d, _, rejection := s.pick(r, false)
	if rejection == nil && d.N == 0 {
		if rejection = s.noChoice(r); rejection == nil {
			return
		}
	}
	s.filter.setContext(s.id)
	s.act(d, rejection, r, s.route.how)
	s.goOn()
}
