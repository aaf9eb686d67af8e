// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// wiring notices that choices have no effect: the cluster lacks the
// override_host policy, a route removes the header, or addresses are not spelt
// as Envoy spells them. An engine that fails looks the same once or twice, not
// many times in a row.
type wiring struct {
	missed int           // choices in a row that others than the first endpoint served
	warned time.Duration // when that was last said; 0: never
}

const (
	missesMiswired = 20
	warnAgain      = time.Minute
)

// served takes whether the first endpoint of a choice has served it.
func (w *wiring) served(f *filter, first bool) {
	if first {
		w.missed = 0
		return
	}
	w.missed++
	if w.missed < missesMiswired || w.warned != 0 && f.clock-w.warned < warnAgain {
		return
	}
	w.warned = max(f.clock, 1)
	f.log(logWarn, "kvsteer: the last choices were not served by the endpoints named. Has the cluster the override_host policy with the header "+
		destinationHeader+"? Are the endpoints' addresses those of Envoy's /clusters page? Does a route remove the header?")
}
