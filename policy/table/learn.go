// SPDX-License-Identifier: Apache-2.0

package table

import "time"

// Learn notes that endpoint e holds a chain: it has just computed it or found
// it in its cache. The blocks are touched last to first, as engines free them,
// so that heads outlive tails.
//
// A block's size is [Chain.Size]; the last one's includes extra, canonical bytes
// beyond the last end that e holds too (the rest of the prompt and the output),
// until a longer chain brings blocks of their own for them.
//
// Where e's capacity or the arena is full, the oldest placements go; of a
// chain longer than the capacity the leading part stays.
//
// Cost: O(1) per block and O(log endpoints) per placement made or evicted. No
// allocation.
func (t *Table) Learn(e int, c Chain, extra uint32, now time.Duration) {
	if !t.live(e) || c.AnyTag {
		return
	}
	touched := t.tick(now)
	for i := min(len(c.Hashes), len(c.Ends)) - 1; i >= 0; i-- {
		t.place(e, key{hash: c.Hashes[i], tag: c.Tag}, c.Size(i)+extra, touched)
		extra = 0
	}
}

// Shrink drops the placements of a chain's blocks from the keep-th on: the
// engine's answer showed that it held no more. Chains that share a dropped
// block end there too.
func (t *Table) Shrink(e int, c Chain, keep int) {
	if !t.live(e) || c.AnyTag {
		return
	}
	for i := len(c.Hashes) - 1; i >= max(keep, 0); i-- {
		if n := t.findNode(t.find(key{hash: c.Hashes[i], tag: c.Tag}), e); n != 0 {
			t.unlink(n)
		}
	}
}

// place makes or touches one placement and keeps e within its capacity.
func (t *Table) place(e int, k key, size, touched uint32) {
	if n := t.findNode(t.find(k), e); n != 0 {
		t.touch(n, size, touched)
	} else {
		// The node comes first: making room for it may free the key's slot.
		n = t.takeNode()
		t.link(n, t.claim(k), e, size, touched)
	}
	t.trim(e)
}
