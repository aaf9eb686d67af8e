// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// Keep notes that e keeps what key names, such as an answer that later requests
// refer to. What is kept grows old among e's placements and goes with them.
func (p *Pool) Keep(e *load.Endpoint, key uint64, now time.Duration) {
	p.table.Assign(key, e.Index, now)
}

// Keeper is the endpoint that keeps what key names, nil if none is known.
func (p *Pool) Keeper(key uint64) *load.Endpoint {
	index, ok := p.table.Owner(key)
	if !ok {
		return nil
	}
	list := p.view.Endpoints()
	at := slices.IndexFunc(list, func(e *load.Endpoint) bool { return e.Index == index })
	if at < 0 {
		return nil
	}
	return list[at]
}

// Prefer makes e the first choice of d, before those that d had chosen for r:
// only e has what r needs. One that isn't ready is left where it is.
func (p *Pool) Prefer(d *Decision, e *load.Endpoint, r *Request) {
	if d.N == 0 || e == d.First() || !e.Ready(r.Now) {
		return
	}
	at := slices.Index(d.Endpoints[:d.N], e)
	if at < 0 {
		d.N = min(d.N+1, MaxChoices)
		at = d.N - 1
	}
	copy(d.Endpoints[1:at+1], d.Endpoints[:at])
	d.Endpoints[0] = e
	d.Match = min(p.matchOf(e, r), r.Length)
	d.Prior, d.Uncached = 0, r.Length-d.Match
}
