// SPDX-License-Identifier: Apache-2.0

package table

import "math/bits"

// maxSiblings bounds how many slots of one bucket an unknown tag looks at.
const maxSiblings = 16

// Match sets dst[e], for each endpoint whose bit is set in candidates, to the
// canonical bytes of the chain's leading blocks that e is believed to hold
// under the chain's tag; other elements stay as they are. Bytes that the tag
// stands for (tools) aren't in it.
//
// With AnyTag a block counts whatever its tag, which bounds the match under
// the true tag from above. Where more than 16 blocks share a bucket, the walk
// takes the block as held by all and keeps the bound.
//
// Cost: one lookup and one AND per word of endpoints for each block, until no
// candidate is left. No allocation.
func (t *Table) Match(dst []uint32, c Chain, candidates []uint64) {
	var space [MaxEndpoints / 64]uint64
	alive := space[:min(t.words, len(candidates))]
	copy(alive, candidates)
	depth := uint32(0)
	for i := range min(len(c.Hashes), len(c.Ends)) {
		var left uint64
		if c.AnyTag {
			left = t.stepAny(dst, alive, c.Hashes[i], depth)
		} else {
			left = t.step(dst, alive, key{hash: c.Hashes[i], tag: c.Tag}, depth)
		}
		if left == 0 {
			return
		}
		depth = c.Ends[i]
	}
	for w, set := range alive {
		settle(dst, w, set, depth)
	}
}

// step keeps in alive the holders of a block. The others end at depth. It
// returns a word that is 0 if nobody is left.
func (t *Table) step(dst []uint32, alive []uint64, k key, depth uint32) (left uint64) {
	row := t.row(t.find(k))
	for w, a := range alive {
		held := a & row[w]
		if held != a {
			settle(dst, w, a&^held, depth)
			alive[w] = held
		}
		left |= held
	}
	return left
}

// stepAny is step for a block under any tag.
func (t *Table) stepAny(dst []uint32, alive []uint64, hash uint64, depth uint32) (left uint64) {
	var space [MaxEndpoints / 64]uint64
	union := space[:len(alive)]
	s, n := *t.hashBucket(hash), 0
	for ; s != 0 && n < maxSiblings; s, n = t.slots[s].older, n+1 {
		if t.slots[s].hash != hash {
			continue
		}
		for w, held := range t.row(s)[:len(union)] {
			union[w] |= held
		}
	}
	for w, a := range alive {
		held := a
		if s == 0 {
			held = a & union[w]
		}
		settle(dst, w, a&^held, depth)
		alive[w] = held
		left |= held
	}
	return left
}

// settle sets the depth of the endpoints in word w of a set.
func settle(dst []uint32, w int, set uint64, depth uint32) {
	for ; set != 0; set &= set - 1 {
		if e := w<<6 + bits.TrailingZeros64(set); e < len(dst) {
			dst[e] = depth
		}
	}
}
