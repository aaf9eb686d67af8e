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
// takes the block as held by all and so keeps the bound.
//
// Cost: one lookup for each block and one AND for each word of endpoints
// between the first and the last that still match, until none does. No
// allocation.
func (t *Table) Match(dst []uint32, c Chain, candidates []uint64) {
	w := walker{dst: dst}
	w.last = copy(w.alive[:t.words], candidates)
	for i := range min(len(c.Hashes), len(c.Ends)) {
		if c.AnyTag {
			t.stepAny(&w, c.Hashes[i])
		} else {
			w.step(t.row(t.find(key{hash: c.Hashes[i], tag: c.Tag})))
		}
		if w.first == w.last {
			return
		}
		w.depth = c.Ends[i]
	}
	for i := w.first; i < w.last; i++ {
		w.settle(i, w.alive[i])
	}
}

// walker is a match walk: who still matches, and how far all of them do.
type walker struct {
	dst         []uint32
	alive       [MaxEndpoints / 64]uint64
	first, last int // alive is 0 outside alive[first:last]; equal when nobody is left
	depth       uint32
}

// step goes on with the holders of the next block. The others end here.
func (w *walker) step(holders []uint64) {
	alive := w.alive[w.first:w.last]
	holders = holders[w.first:w.last]
	for i, a := range alive {
		if ended := a &^ holders[i]; ended != 0 {
			w.settle(w.first+i, ended)
			alive[i] = a &^ ended
		}
	}
	for w.first < w.last && w.alive[w.first] == 0 {
		w.first++
	}
	for w.first < w.last && w.alive[w.last-1] == 0 {
		w.last--
	}
}

// settle sets the depth of the endpoints in word i.
func (w *walker) settle(i int, set uint64) {
	for ; set != 0; set &= set - 1 {
		if e := i<<6 + bits.TrailingZeros64(set); e < len(w.dst) {
			w.dst[e] = w.depth
		}
	}
}

// stepAny goes on with the holders of the next block under any tag.
func (t *Table) stepAny(w *walker, hash uint64) {
	var union [MaxEndpoints / 64]uint64
	s := *t.hashBucket(hash)
	for n := 0; s != 0; s, n = t.slots[s].older, n+1 {
		if n == maxSiblings {
			return
		}
		if t.slots[s].hash != hash {
			continue
		}
		for i, held := range t.row(s) {
			union[i] |= held
		}
	}
	w.step(union[:t.words])
}
