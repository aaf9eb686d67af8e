// SPDX-License-Identifier: Apache-2.0

package sim

import "container/list"

// lru is a set of blocks that keeps the ones used last. Engines use it for
// their cache, peers for what they believe of one.
type lru struct {
	capacity   int // blocks; 0 = unbounded
	reserved   int // blocks of the capacity that running requests hold
	headsFirst bool
	order      *list.List
	at         map[int]*list.Element
}

func newLRU(capacity int, headsFirst bool) *lru {
	return &lru{capacity: capacity, headsFirst: headsFirst, order: list.New(), at: map[int]*list.Element{}}
}

// match is the number of leading blocks that are in the set.
func (l *lru) match(blocks []int) int {
	for k, b := range blocks {
		if l.at[b] == nil {
			return k
		}
	}
	return len(blocks)
}

// use touches the blocks last to first, so that a prefix outlives what follows
// it, adds those that are missing, and evicts what no longer fits.
func (l *lru) use(blocks []int) {
	for k := range blocks {
		if !l.headsFirst {
			k = len(blocks) - 1 - k
		}
		l.touch(blocks[k])
	}
	l.trim()
}

func (l *lru) touch(block int) {
	if e := l.at[block]; e != nil {
		l.order.MoveToFront(e)
		return
	}
	l.at[block] = l.order.PushFront(block)
}

// reserve takes n blocks (or gives them back, n < 0) out of the capacity.
func (l *lru) reserve(n int) {
	l.reserved += n
	l.trim()
}

func (l *lru) trim() {
	for l.capacity > 0 && l.order.Len() > max(0, l.capacity-l.reserved) {
		last := l.order.Back()
		l.order.Remove(last)
		delete(l.at, last.Value.(int))
	}
}
