// SPDX-License-Identifier: Apache-2.0

package table

import "math/bits"

// maxRun bounds a bucket's chain. Chains of 32 don't come about by chance (the
// mean is at most one), only if somebody finds colliding hashes without
// knowing the seed. The oldest slot of the chain then goes, with all its
// placements, so that a lookup never takes more than maxRun steps.
const maxRun = 32

// key identifies a slot.
type key struct {
	hash, tag uint64
	owner     bool // a conversation key with its owner, not a block: the two never meet
}

// slot is a block under one tag, or a conversation key.
type slot struct {
	hash, tag    uint64
	next         uint32 // next in the bucket of the key, or next free slot
	newer, older uint32 // neighbours in the bucket of the hash alone, where owners aren't
	holders      uint16 // set bits in the holder row; 0 only while free or being claimed
	owner        bool   // as in key
}

func (s *slot) key() key { return key{s.hash, s.tag, s.owner} }

// fibonacci is 2^64 divided by the golden ratio; multiplying by it spreads
// bits upwards (Knuth, The Art of Computer Programming 3, section 6.4).
const fibonacci = 0x9e3779b97f4a7c15

// bucket returns the index for a hash in an index of n buckets, n a power of two.
func bucket(hash uint64, n int) int {
	return int(hash * fibonacci >> (64 - bits.Len(uint(n-1))))
}

func (t *Table) pairBucket(k key) *uint32 {
	return &t.byPair[bucket(k.hash^bits.RotateLeft64(k.tag, 32), len(t.byPair))]
}

func (t *Table) hashBucket(hash uint64) *uint32 {
	return &t.byHash[bucket(hash, len(t.byHash))]
}

// find returns the slot of a key, 0 if there is none.
func (t *Table) find(k key) uint32 {
	s := *t.pairBucket(k)
	for s != 0 && t.slots[s].key() != k {
		s = t.slots[s].next
	}
	return s
}

// row returns the holders of a slot.
func (t *Table) row(s uint32) []uint64 {
	return t.holders[int(s)*t.words:][:t.words]
}

// claim returns the slot of a key, which it makes if there is none. Where all
// slots are in use, tails of the endpoint furthest above its share go until
// one is free: each step removes a placement, so there is an end, and none is
// removed twice, so the cost is O(1) per placement ever made. A slot just made
// has no holder; the caller links one at once.
func (t *Table) claim(k key) uint32 {
	if s := t.find(k); s != 0 {
		return s
	}
	t.boundRun(k)
	for t.freeSlot == 0 && t.usedSlots == t.config.Slots {
		t.evictFurthest()
	}
	s := t.freeSlot
	if s != 0 {
		t.freeSlot = t.slots[s].next
	} else {
		t.usedSlots++
		s = uint32(t.usedSlots)
	}
	first := t.pairBucket(k)
	t.slots[s] = slot{hash: k.hash, tag: k.tag, owner: k.owner, next: *first}
	*first = s
	if !k.owner {
		t.joinSiblings(s)
	}
	return s
}

// boundRun makes room in a key's bucket: the slot at the end of a chain of
// maxRun, the first that was made, loses all its placements.
func (t *Table) boundRun(k key) {
	n, last := 0, uint32(0)
	for s := *t.pairBucket(k); s != 0; s = t.slots[s].next {
		n, last = n+1, s
	}
	if n >= maxRun {
		t.clearSlot(last)
	}
}

// clearSlot removes all placements of a slot, which frees it.
func (t *Table) clearSlot(s uint32) {
	for w := range t.words {
		for set := t.row(s)[w]; set != 0; set &= set - 1 {
			t.unlink(t.findNode(s, w<<6+bits.TrailingZeros64(set)))
		}
	}
}

// release frees a slot without holders.
func (t *Table) release(s uint32) {
	at := t.pairBucket(t.slots[s].key())
	for *at != s {
		at = &t.slots[*at].next
	}
	*at = t.slots[s].next
	if !t.slots[s].owner {
		t.leaveSiblings(s)
	}
	t.slots[s] = slot{next: t.freeSlot}
	t.freeSlot = s
}

// joinSiblings puts a slot first in the bucket of its hash alone.
func (t *Table) joinSiblings(s uint32) {
	first := t.hashBucket(t.slots[s].hash)
	t.slots[s].older = *first
	t.slots[*first].newer = s
	*first = s
}

func (t *Table) leaveSiblings(s uint32) {
	newer, older := t.slots[s].newer, t.slots[s].older
	if newer == 0 {
		*t.hashBucket(t.slots[s].hash) = older
	} else {
		t.slots[newer].older = older
	}
	t.slots[older].newer = newer
}
