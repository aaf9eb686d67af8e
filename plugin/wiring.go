// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// wiring notices that choices have no effect: the cluster lacks the
// override_host policy, a route removes the header, or addresses are not spelt
// as Envoy spells them. Then Envoy's own balancer serves, and of n engines it
// meets the first choice one time in n, so that misses need not come in a row.
type wiring struct {
	score  int           // up by missPoints with a miss, down by 1 with a hit
	warned time.Duration // when choices without effect were last spoken of; 0: never
}

// The score rises only where more than a quarter of the choices miss. With two
// engines half of them do, which takes 60 checks; with more engines it takes
// fewer, 20 if none hits. An engine that fails misses a few times, until its
// circuit opens, and hits elsewhere wear that off.
const (
	missPoints   = 3
	miswiredFrom = 60 // also the most: once the wiring is right, hits count at once
	warnAgain    = time.Minute
)

// served takes whether the first endpoint of a choice has served it.
func (w *wiring) served(f *filter, first bool) {
	if first {
		w.score = max(w.score-1, 0)
		return
	}
	w.score = min(w.score+missPoints, miswiredFrom)
	if w.score < miswiredFrom || w.warned != 0 && f.clock-w.warned < warnAgain {
		return
	}
	w.warned = max(f.clock, 1)
	f.log(logWarn, "kvsteer: many of the last choices were not served by the endpoints named. Has the cluster the override_host policy with the header "+
		destinationHeader+"? Are the endpoints' addresses those of Envoy's /clusters page? Does a route remove the header?")
}
