// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"math/bits"
	"testing"
)

// parents maps a block to its predecessor; a chain's first block isn't in it.
type parents map[uint64]uint64

// checkBothDirections checks invariants 1 and 2 and that every index and free
// list is what the slots and nodes say.
func checkBothDirections(t *testing.T, x *Table) {
	t.Helper()
	held := make([]int, len(x.slots))
	total := 0
	for e := range x.lists {
		l := &x.lists[e]
		bytes, count, newer := uint64(0), uint32(0), uint32(0)
		for n := l.newest; n != 0; newer, n = n, x.nodes[n].older {
			s := x.nodes[n].slot
			if int(x.nodes[n].endpoint) != e || x.nodes[n].newer != newer {
				t.Fatalf("node %d in the list of %d is %+v, want newer %d", n, e, x.nodes[n], newer)
			}
			if x.row(s)[e>>6]>>(e&63)&1 == 0 {
				t.Fatalf("endpoint %d has a node for slot %d but no bit", e, s)
			}
			if x.findNode(s, e) != n {
				t.Fatalf("findNode(%d, %d) = %d, want %d", s, e, x.findNode(s, e), n)
			}
			held[s]++
			bytes += uint64(x.nodes[n].size)
			count++
		}
		if l.oldest != newer || l.count != count || l.bytes != bytes {
			t.Fatalf("list %d is %+v, want oldest %d, count %d, bytes %d", e, *l, newer, count, bytes)
		}
		if l.capacity > 0 && bytes > l.capacity || !l.live && count > 0 {
			t.Fatalf("endpoint %d holds %d bytes: %+v", e, bytes, *l)
		}
		total += int(count)
	}
	if free := chainLength(x.freeNode, func(n uint32) uint32 { return x.nodes[n].next }); total+free != x.usedNodes {
		t.Fatalf("%d nodes in lists and %d free, want %d together", total, free, x.usedNodes)
	}
	checkSlots(t, x, held)
}

// checkSlots checks the slots against how many nodes point to each.
func checkSlots(t *testing.T, x *Table, held []int) {
	t.Helper()
	used := 0
	for s := 1; s <= x.usedSlots; s++ {
		set := 0
		for _, word := range x.row(uint32(s)) {
			set += bits.OnesCount64(word)
		}
		if set != held[s] || int(x.slots[s].holders) != held[s] {
			t.Fatalf("slot %d has %d bits and counts %d, want %d", s, set, x.slots[s].holders, held[s])
		}
		if held[s] == 0 {
			continue
		}
		used++
		if got := x.find(x.slots[s].key()); int(got) != s {
			t.Fatalf("find(%+v) = %d, want %d", x.slots[s].key(), got, s)
		}
		if x.slots[s].owner && held[s] != 1 {
			t.Fatalf("conversation %#x has %d owners", x.slots[s].hash, held[s])
		}
		sibling := *x.hashBucket(x.slots[s].hash)
		for sibling != 0 && sibling != uint32(s) {
			sibling = x.slots[sibling].older
		}
		if (sibling == 0) != x.slots[s].owner {
			t.Fatalf("slot %d (owner %v) is in its hash's bucket: %v", s, x.slots[s].owner, sibling != 0)
		}
	}
	if free := chainLength(x.freeSlot, func(s uint32) uint32 { return x.slots[s].next }); used+free != x.usedSlots {
		t.Fatalf("%d slots held and %d free, want %d together", used, free, x.usedSlots)
	}
	for i, first := range x.byPair {
		if n := chainLength(first, func(s uint32) uint32 { return x.slots[s].next }); n > maxRun {
			t.Fatalf("bucket %d has %d slots, want at most %d", i, n, maxRun)
		}
	}
}

func chainLength(first uint32, next func(uint32) uint32) (n int) {
	for at := first; at != 0; at = next(at) {
		n++
	}
	return n
}

// checkExcess checks that the tournament's winner is furthest above its share.
func checkExcess(t *testing.T, x *Table) {
	t.Helper()
	winner, most := 0, int64(math.MinInt64)
	for e := range x.lists {
		if above := x.aboveShare(e); above > most {
			winner, most = e, above
		}
	}
	if got := x.excess.winner(); x.excess.keys[got] != most || most > math.MinInt64 && got != winner {
		t.Fatalf("winner %d is %d above its share, want %d with %d", got, x.excess.keys[got], winner, most)
	}
}

// checkTime checks invariant 3.
func checkTime(t *testing.T, x *Table) {
	t.Helper()
	for e := range x.lists {
		for n := x.lists[e].newest; n != 0; n = x.nodes[n].older {
			if older := x.nodes[n].older; older != 0 && x.age(older) < x.age(n) {
				t.Fatalf("endpoint %d: node %d was touched before its older neighbour %d", e, n, older)
			}
		}
	}
}

// checkChains checks invariant 4 and, if closed, invariant 5.
func checkChains(t *testing.T, x *Table, tree parents, closed bool) {
	t.Helper()
	for e := range x.lists {
		place := map[key]int{}
		for n := x.lists[e].newest; n != 0; n = x.nodes[n].older {
			place[x.slots[x.nodes[n].slot].key()] = len(place)
		}
		for k, at := range place {
			parent, ok := tree[k.hash]
			if !ok || k.owner {
				continue
			}
			before, held := place[key{hash: parent, tag: k.tag}]
			if held && before > at {
				t.Fatalf("endpoint %d: block %#x is newer than its predecessor %#x", e, k.hash, parent)
			}
			if !held && closed {
				t.Fatalf("endpoint %d holds %#x without its predecessor %#x", e, k.hash, parent)
			}
		}
	}
}
