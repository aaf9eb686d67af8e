// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// What is worth telling. Of a prompt that an endpoint serves the blocks that
// this VM did not believe it to hold are news: a turn of a conversation adds a
// few. The blocks before them have been told by somebody, but they have been
// used again, and where nobody tells so the others let them grow old while the
// engine keeps them. So now and then all of a prompt is told: with the
// probability since/touchAfter, which comes to once in touchAfter however often
// the prompt comes back and whoever serves it, and needs no memory of what was
// told. touchAfter is a quarter of the time that the endpoint keeps a block, so
// the others are wrong by about so much. While news wait for room nothing is
// told a second time.
const (
	touchPart  = 4
	touchLeast = 5 * time.Second
	touchMost  = 10 * time.Minute
)

// learned tells that e serves r, of which it held the first known blocks. It
// comes before the pool learns the same.
func (x *exchange) learned(p *pool, e *load.Endpoint, r *policy.Request, known int) {
	if x.alone() {
		return
	}
	from := known
	if known > 0 && len(x.pending) < x.most() && x.touches(p, e, r, known-1) {
		from = 0
	}
	to := min(len(r.Hashes), from+x.room())
	x.vm.metrics.add(sharedPlacementsDropped, len(r.Hashes)-to)
	for b := range r.Placements(from, to) {
		x.push(e, made, b)
	}
	// A conversation that e held nothing of beyond its head may have changed its owner.
	if begun := known > 0 && int(r.Ends[known-1]) > r.Head; begun && from > 0 || !r.KeyKnown {
		return
	}
	if owner, ok := x.vm.table.Owner(r.Key); ok && owner == e.Index {
		x.owns(e, r.Key)
	}
}

// touches reports whether a block whose placement is used again is due to be
// told.
func (x *exchange) touches(p *pool, e *load.Endpoint, r *policy.Request, block int) bool {
	since, ok := p.Since(e, r, block)
	after := min(max(p.Window(e, r.Now)/touchPart, touchLeast), touchMost)
	return ok && rand.Float64()*float64(after) < float64(since)
}

// lost tells that e doesn't hold r's blocks from index from up to index to.
func (x *exchange) lost(e *load.Endpoint, r *policy.Request, from, to int) {
	for b := range r.Placements(from, to) {
		x.push(e, gone, b)
	}
}

// owns tells that e is the owner of a conversation or keeps an answer.
func (x *exchange) owns(e *load.Endpoint, key uint64) {
	x.push(e, owned, table.Placement{Hash: key})
}

// restarted tells that e holds nothing.
func (x *exchange) restarted(e *load.Endpoint) {
	x.push(e, restarted, table.Placement{})
}

// alone reports whether nobody listens. Before the first tick that isn't known.
func (x *exchange) alone() bool { return x.alive == 0 && x.slot >= 0 }

func (x *exchange) room() int { return pendingMost - len(x.pending) }

// push queues one piece of news.
func (x *exchange) push(e *load.Endpoint, k newsKind, b table.Placement) {
	if x.alone() {
		return
	}
	x.members.refresh(x.vm)
	name := x.members.name(e.Index)
	if name == 0 || x.room() == 0 {
		x.vm.metrics.add(sharedPlacementsDropped, 1)
		return
	}
	x.pending = append(x.pending, news{b.Hash, b.Tag, b.Size, k, name, 0})
}

// take believes what another VM told so long ago, and returns how many records
// were of endpoints that this VM knows.
func (x *exchange) take(b *batch, ago time.Duration) (taken int) {
	now := x.vm.clock
	at, m := -1, (*member)(nil)
	for name, r := range b.records {
		if name != at {
			at, m = name, x.members.find(b.name(name))
		}
		if m == nil {
			continue // an endpoint that this VM doesn't know (yet)
		}
		r.Age += ago
		taken++
		switch r.kind {
		case made, owned:
			m.pool.Adopt(m.Endpoint, r.Placement, now)
		case gone:
			m.pool.Drop(m.Endpoint, r.Placement)
		case restarted:
			m.pool.Restarted(m.Endpoint)
		}
	}
	return taken
}
