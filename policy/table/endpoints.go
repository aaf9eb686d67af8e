// SPDX-License-Identifier: Apache-2.0

package table

import "time"

// AgeWhenEmpty is the age of an endpoint that holds nothing: whatever it is
// given pushes out nothing.
const AgeWhenEmpty = time.Hour

// Add makes room for an endpoint and returns its index, the lowest that is
// free, which stays the same until Remove; false if all are in use. Capacity
// is what its cache holds, in canonical bytes; 0 leaves it bounded by the
// arena only.
func (t *Table) Add(capacity uint64) (e int, ok bool) {
	for e := range t.lists {
		if !t.lists[e].live {
			t.lists[e] = list{capacity: capacity, live: true}
			t.spread()
			return e, true
		}
	}
	return 0, false
}

// Remove forgets endpoint e and its placements. Cost: e's own nodes.
func (t *Table) Remove(e int) {
	if !t.live(e) {
		return
	}
	t.Reset(e)
	t.lists[e] = list{}
	t.spread()
}

// Reset removes all placements of endpoint e, as a restarted engine has lost
// its cache. Cost: e's own nodes.
func (t *Table) Reset(e int) {
	if !t.live(e) {
		return
	}
	for t.lists[e].count > 0 {
		t.evictOldest(e)
	}
}

// SetCapacity changes what endpoint e's cache holds, in canonical bytes. The
// oldest placements beyond it go.
func (t *Table) SetCapacity(e int, bytes uint64) {
	if !t.live(e) || t.lists[e].capacity == bytes {
		return
	}
	t.lists[e].capacity = bytes
	t.trim(e)
	t.spread()
}

// Age returns how long ago the oldest placement of endpoint e was touched: how
// old the blocks are that a new one pushes out. While e's list has room, that
// age is extrapolated by capacity/length, or where the capacity isn't known by
// share/length in nodes. AgeWhenEmpty where e holds no bytes.
//
// Range: from 0 (all that e holds was touched at this moment) without an upper
// bound; resolution 1 ms.
func (t *Table) Age(e int, now time.Duration) time.Duration {
	if !t.live(e) {
		return 0
	}
	l := &t.lists[e]
	if l.bytes == 0 {
		return AgeWhenEmpty
	}
	t.tick(now)
	age := time.Duration(t.age(l.oldest)) * time.Millisecond
	factor := float64(l.share) / float64(l.count)
	if l.capacity > 0 {
		factor = float64(l.capacity) / float64(l.bytes)
	}
	const limit = float64(1 << 62)
	return time.Duration(min(limit, float64(age)*max(1, factor)))
}
