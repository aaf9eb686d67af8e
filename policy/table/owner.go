// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"time"
)

// Owner returns the endpoint that owns a conversation key.
func (t *Table) Owner(conversation uint64) (e int, ok bool) {
	s := t.find(key{hash: conversation, owner: true})
	for w, set := range t.row(s) {
		if set != 0 {
			return w<<6 + bits.TrailingZeros64(set), true
		}
	}
	return 0, false
}

// Assign makes endpoint e the owner of a conversation key, in place of another
// if there is one, and touches it. An owned key stands in e's list among its
// blocks with size 0, so it ages with them and goes with e.
func (t *Table) Assign(conversation uint64, e int, now time.Duration) {
	if !t.live(e) {
		return
	}
	t.assign(conversation, e, t.tick(now))
}

// assign is Assign as of a time that may lie in the past: the later of two
// assignments stands.
func (t *Table) assign(conversation uint64, e int, touched uint32) {
	k := key{hash: conversation, owner: true}
	if old, ok := t.Owner(conversation); ok && old != e {
		s := t.find(k)
		if t.age(t.findNode(s, old)) < t.ageOf(touched) {
			return
		}
		t.clearSlot(s)
	}
	t.place(e, k, 0, touched)
}
