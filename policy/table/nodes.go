// SPDX-License-Identifier: Apache-2.0

package table

// node is one placement: the endpoint of the list it is in holds the slot.
type node struct {
	slot         uint32
	size         uint32 // canonical bytes
	touched      uint32 // milliseconds
	newer, older uint32 // neighbours in the endpoint's list
	next         uint32 // next in the bucket of (slot, endpoint), or next free node
	endpoint     uint16
}

// list is what an endpoint holds, in order of time.
type list struct {
	capacity       uint64 // canonical bytes; 0 = bounded by the arena only
	bytes          uint64 // sum of the nodes' sizes
	newest, oldest uint32
	count          uint32 // nodes
	share          int32  // nodes of the arena that are this endpoint's due
	live           bool
}

func (t *Table) holderBucket(s uint32, e int) *uint32 {
	return &t.byHolder[bucket(uint64(s)<<16|uint64(e), len(t.byHolder))]
}

// findNode returns the node of a slot in e's list, 0 if there is none.
func (t *Table) findNode(s uint32, e int) uint32 {
	n := *t.holderBucket(s, e)
	for n != 0 && (t.nodes[n].slot != s || int(t.nodes[n].endpoint) != e) {
		n = t.nodes[n].next
	}
	return n
}

// takeNode returns a node that is in no list. Where the arena is full, the
// tail of the endpoint furthest above its share goes.
func (t *Table) takeNode() uint32 {
	if t.freeNode == 0 && t.usedNodes == t.config.Nodes {
		t.evictFurthest()
	}
	n := t.freeNode
	if n != 0 {
		t.freeNode = t.nodes[n].next
		return n
	}
	t.usedNodes++
	return uint32(t.usedNodes)
}

// link makes endpoint e a holder of a slot it doesn't hold, in both
// directions, with a node from takeNode.
func (t *Table) link(n, s uint32, e int, size, touched uint32) {
	first := t.holderBucket(s, e)
	t.nodes[n] = node{slot: s, size: size, touched: touched, next: *first, endpoint: uint16(e)}
	*first = n
	t.slots[s].holders++
	t.row(s)[e>>6] |= 1 << (e & 63)

	l := &t.lists[e]
	l.bytes += uint64(size)
	l.count++
	t.insert(n)
	t.excess.update(e, t.aboveShare(e))
}

// unlink ends a placement in both directions. The slot is freed with its last
// holder. Cost: O(1), and O(log endpoints) to keep the order of excess.
func (t *Table) unlink(n uint32) {
	e, s := int(t.nodes[n].endpoint), t.nodes[n].slot
	l := &t.lists[e]
	l.bytes -= uint64(t.nodes[n].size)
	l.count--
	t.detach(n)
	t.excess.update(e, t.aboveShare(e))

	at := t.holderBucket(s, e)
	for *at != n {
		at = &t.nodes[*at].next
	}
	*at = t.nodes[n].next
	t.nodes[n] = node{next: t.freeNode}
	t.freeNode = n

	t.row(s)[e>>6] &^= 1 << (e & 63)
	t.slots[s].holders--
	if t.slots[s].holders == 0 {
		t.release(s)
	}
}

// touch makes a placement the newest of its list as of a time, unless it was
// touched later already, and sets its size.
func (t *Table) touch(n, size, touched uint32) {
	l := &t.lists[t.nodes[n].endpoint]
	l.bytes += uint64(size) - uint64(t.nodes[n].size)
	t.nodes[n].size = size
	if t.ageOf(touched) > t.age(n) {
		return
	}
	t.nodes[n].touched = touched
	t.detach(n)
	t.insert(n)
}

// insert puts a node into its list by its time, as the newest of its moment.
// The walk is over the nodes touched since: none, except for a placement that
// another worker made a little earlier.
func (t *Table) insert(n uint32) {
	x := &t.nodes[n]
	l := &t.lists[x.endpoint]
	age := t.age(n)
	newer, older := uint32(0), l.newest
	for older != 0 && t.age(older) < age {
		newer, older = older, t.nodes[older].older
	}
	x.newer, x.older = newer, older
	if newer == 0 {
		l.newest = n
	} else {
		t.nodes[newer].older = n
	}
	if older == 0 {
		l.oldest = n
	} else {
		t.nodes[older].newer = n
	}
}

// detach takes a node out of its list.
func (t *Table) detach(n uint32) {
	x := &t.nodes[n]
	l := &t.lists[x.endpoint]
	if x.newer == 0 {
		l.newest = x.older
	} else {
		t.nodes[x.newer].older = x.older
	}
	if x.older == 0 {
		l.oldest = x.newer
	} else {
		t.nodes[x.older].newer = x.newer
	}
}
