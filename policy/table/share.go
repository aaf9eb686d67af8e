// SPDX-License-Identifier: Apache-2.0

package table

import "math"

// aboveShare returns how many nodes endpoint e holds above its share of the
// arena; an endpoint that holds nothing can't give any and comes last.
func (t *Table) aboveShare(e int) int64 {
	l := &t.lists[e]
	if l.count == 0 {
		return math.MinInt64
	}
	return int64(l.count) - int64(l.share)
}

// spread sets the shares: the arena's nodes in proportion to capacity. An
// endpoint of unknown capacity counts as the mean of the known ones. Shares are
// the same on every architecture: the conversion of the product to float64 keeps
// the compiler from fusing it with the sum.
// Cost: O(endpoints · log endpoints), paid where the set of endpoints or a
// capacity changes.
func (t *Table) spread() {
	live, known, sum := 0.0, 0.0, 0.0
	for i := range t.lists {
		if !t.lists[i].live {
			continue
		}
		live++
		if c := t.lists[i].capacity; c > 0 {
			known++
			sum += float64(c)
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / known
	}
	perByte := float64(t.config.Nodes) / (sum + float64((live-known)*mean))
	for i := range t.lists {
		l := &t.lists[i]
		if !l.live {
			l.share = 0
			continue
		}
		c := float64(l.capacity)
		if l.capacity == 0 {
			c = mean
		}
		l.share = int32(c * perByte)
		t.excess.update(i, t.aboveShare(i))
	}
}

// evictOldest removes the placement at the tail of e's list.
func (t *Table) evictOldest(e int) { t.unlink(t.lists[e].oldest) }

// evictFurthest removes the tail of the endpoint furthest above its share.
// The arena or the slots must be full, so that there is one.
func (t *Table) evictFurthest() { t.evictOldest(t.excess.winner()) }

// trim evicts until e is within its capacity.
func (t *Table) trim(e int) {
	l := &t.lists[e]
	for l.capacity > 0 && l.bytes > l.capacity {
		t.evictOldest(e)
	}
}

// tournament knows the largest of n keys: a binary tree whose inner nodes
// name the winner of their half. An update costs O(log n), the lower index
// wins ties.
type tournament struct {
	keys  []int64
	names []uint16 // names[1] is the winner; the children of i are 2i and 2i+1
}

func newTournament(n int) tournament {
	size := buckets(n)
	t := tournament{keys: make([]int64, size), names: make([]uint16, 2*size)}
	for i := range size {
		t.keys[i] = math.MinInt64
		t.names[size+i] = uint16(i)
	}
	for i := size - 1; i > 0; i-- {
		t.names[i] = t.names[2*i]
	}
	return t
}

func (t *tournament) winner() int { return int(t.names[1]) }

func (t *tournament) update(i int, k int64) {
	if t.keys[i] == k {
		return
	}
	t.keys[i] = k
	for at := (len(t.keys) + i) / 2; at > 0; at /= 2 {
		left, right := t.names[2*at], t.names[2*at+1]
		if t.keys[right] > t.keys[left] {
			left = right
		}
		t.names[at] = left
	}
}
