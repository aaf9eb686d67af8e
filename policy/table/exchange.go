// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"time"
)

// Placement is one placement by itself, as workers exchange it and as a
// module update hands it over. It carries an age, not a time, because times
// count from the start of a VM.
type Placement struct {
	Hash, Tag uint64
	Size      uint32        // canonical bytes
	Owner     bool          // Hash is a conversation key, not a block; Tag is 0
	Age       time.Duration // since it was touched; resolution 1 ms
}

// maxAge is the oldest that a placement can come in.
const maxAge = 1 << 31 * time.Millisecond

// Place makes or touches a single placement as of the time it was touched: it
// goes between its neighbours in time. A placement that e's list has as
// touched later stays where it is.
//
// Of placements with one age, the one placed last counts as the newest, so
// pass them in the order of Learn, a chain's last block first. What Newest
// lists is passed from the end.
//
// Cost: as one block of Learn, and a step for each placement of e touched since.
func (t *Table) Place(e int, p Placement, now time.Duration) {
	if !t.live(e) {
		return
	}
	touched := t.tick(now) - uint32(min(max(p.Age, 0), maxAge)/time.Millisecond)
	if p.Owner {
		t.assign(p.Hash, e, touched)
		return
	}
	t.place(e, key{hash: p.Hash, tag: p.Tag}, p.Size, touched)
}

// Since returns how long ago endpoint e's placement of a block was touched;
// false if e isn't believed to hold it. Resolution 1 ms.
func (t *Table) Since(e int, hash, tag uint64, now time.Duration) (time.Duration, bool) {
	if !t.live(e) {
		return 0, false
	}
	t.tick(now)
	n := t.findNode(t.find(key{hash: hash, tag: tag}), e)
	if n == 0 {
		return 0, false
	}
	return time.Duration(t.age(n)) * time.Millisecond, true
}

// Newest visits the placements of all endpoints, newest first, until visit
// returns false. Visit must not change the table.
//
// Cost: O(log endpoints) per placement; it allocates a few KiB.
func (t *Table) Newest(now time.Duration, visit func(e int, p Placement) bool) {
	t.tick(now)
	heads := newTournament(len(t.lists))
	cursors := make([]uint32, len(t.lists))
	advance := func(e int, n uint32) {
		cursors[e] = n
		if n == 0 {
			heads.update(e, math.MinInt64)
		} else {
			heads.update(e, -int64(t.age(n)))
		}
	}
	for e := range t.lists {
		advance(e, t.lists[e].newest)
	}
	for {
		e := heads.winner()
		n := cursors[e]
		if n == 0 {
			return
		}
		s := &t.slots[t.nodes[n].slot]
		age := time.Duration(t.age(n)) * time.Millisecond
		if !visit(e, Placement{s.hash, s.tag, t.nodes[n].size, s.owner, age}) {
			return
		}
		advance(e, t.nodes[n].older)
	}
}
