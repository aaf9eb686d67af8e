// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"iter"
	"sort"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// What follows is for gateways whose worker threads each have a pool of their
// own and tell one another what they learn.

// Known is how many of r's leading blocks e is believed to hold. The others of
// a prompt that e serves are news.
func (p *Pool) Known(e *load.Endpoint, r *Request) int {
	if e.Index == load.None || len(r.Ends) == 0 {
		return 0
	}
	p.matchOf(e, r)
	return r.blocks(int(p.match[e.Index]))
}

// KnownOf is Known for the first endpoint of a decision that was made for the
// same prompt, without another walk over its blocks.
func (r *Request) KnownOf(d *Decision) int { return r.blocks(d.Match - r.TagBytes) }

// blocks is how many leading blocks end within so many bytes.
func (r *Request) blocks(bytes int) int {
	return sort.Search(len(r.Ends), func(i int) bool { return int(r.Ends[i]) > bytes })
}

// Since is how long ago e's placement of r's block at this index was touched;
// false if e isn't believed to hold it.
func (p *Pool) Since(e *load.Endpoint, r *Request, block int) (time.Duration, bool) {
	return p.table.Since(e.Index, r.Hashes[block], r.Tag, r.Now)
}

// Window is how long e's cache keeps a block that nobody asks for, as far as
// the placements show.
func (p *Pool) Window(e *load.Endpoint, now time.Duration) time.Duration {
	return p.table.Age(e.Index, now)
}

// Placements are the placements that Learn makes of r's blocks from index from
// up to index to, in the order in which they are to be adopted: last block
// first.
func (r *Request) Placements(from, to int) iter.Seq[table.Placement] {
	return func(yield func(table.Placement) bool) {
		c := r.chain()
		for i := to - 1; i >= from; i-- {
			if !yield(table.Placement{Hash: c.Hashes[i], Tag: c.Tag, Size: c.Size(i)}) {
				return
			}
		}
	}
}

// Adopt takes a placement that another worker has made on e.
func (p *Pool) Adopt(e *load.Endpoint, x table.Placement, now time.Duration) {
	if e.Listed() {
		p.table.Place(e.Index, x, now)
	}
}

// Drop forgets a placement that another worker has found to be gone.
func (p *Pool) Drop(e *load.Endpoint, x table.Placement) {
	p.table.Shrink(e.Index, table.Chain{Hashes: []uint64{x.Hash}, Ends: []uint32{1}, Tag: x.Tag}, 0)
}

// Withdraw takes back what Learn(e, r) has made beyond the first known blocks:
// e has not computed the prompt after all.
func (p *Pool) Withdraw(e *load.Endpoint, r *Request, known int) {
	p.table.Shrink(e.Index, r.chain(), known)
}
