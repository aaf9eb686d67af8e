// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"slices"
	"time"
)

// slow is the placement table on plain maps and slices: the reference that the
// tests compare with.
type slow struct {
	config Config
	clock  int64 // milliseconds
	lists  map[int]*slowList
}

type slowList struct {
	capacity uint64
	entries  []slowEntry // newest first
}

type slowEntry struct {
	key     key
	size    uint32
	touched int64
}

func newSlow(c Config) *slow {
	return &slow{config: c.withDefaults(), lists: map[int]*slowList{}}
}

func (m *slow) add(capacity uint64) (int, bool) {
	for e := range m.config.Endpoints {
		if m.lists[e] == nil {
			m.lists[e] = &slowList{capacity: capacity}
			return e, true
		}
	}
	return 0, false
}

func (m *slow) setCapacity(e int, bytes uint64) {
	if l := m.lists[e]; l != nil {
		l.capacity = bytes
		l.trim()
	}
}

func (l *slowList) bytes() (sum uint64) {
	for _, x := range l.entries {
		sum += uint64(x.size)
	}
	return sum
}

func (l *slowList) trim() {
	for l.capacity > 0 && l.bytes() > l.capacity {
		l.entries = l.entries[:len(l.entries)-1]
	}
}

func (l *slowList) index(k key) int {
	return slices.IndexFunc(l.entries, func(x slowEntry) bool { return x.key == k })
}

func (l *slowList) drop(k key) {
	l.entries = slices.DeleteFunc(l.entries, func(x slowEntry) bool { return x.key == k })
}

// insert puts an entry before the first that was touched no later.
func (l *slowList) insert(x slowEntry) {
	at := slices.IndexFunc(l.entries, func(y slowEntry) bool { return y.touched <= x.touched })
	if at < 0 {
		at = len(l.entries)
	}
	l.entries = slices.Insert(l.entries, at, x)
}

func (m *slow) tick(now time.Duration) int64 {
	m.clock = max(m.clock, now.Milliseconds())
	return m.clock
}

func (m *slow) learn(e int, c Chain, extra uint32, now time.Duration) {
	if m.lists[e] == nil || c.AnyTag {
		return
	}
	touched := m.tick(now)
	for i := len(c.Hashes) - 1; i >= 0; i-- {
		size := c.Ends[i]
		if i == len(c.Hashes)-1 {
			size += extra
		}
		if i > 0 {
			size -= c.Ends[i-1]
		} else {
			size += c.Tools
		}
		m.place(e, slowEntry{key{hash: c.Hashes[i], tag: c.Tag}, size, touched})
	}
}

func (m *slow) place(e int, x slowEntry) {
	l := m.lists[e]
	if at := l.index(x.key); at >= 0 {
		old := l.entries[at]
		if old.touched > x.touched {
			l.entries[at].size = x.size
		} else {
			l.drop(x.key)
			l.insert(x)
		}
		l.trim()
		return
	}
	if m.nodes() == m.config.Nodes {
		m.evict()
	}
	for slots := m.slots(); !slots[x.key] && len(slots) == m.config.Slots; slots = m.slots() {
		m.evict()
	}
	l.insert(x)
	l.trim()
}

func (m *slow) shrink(e int, c Chain, keep int) {
	if m.lists[e] == nil || c.AnyTag {
		return
	}
	for _, h := range c.Hashes[min(keep, len(c.Hashes)):] {
		m.lists[e].drop(key{hash: h, tag: c.Tag})
	}
}

func (m *slow) assign(e int, conversation uint64, touched int64) {
	k := key{hash: conversation, owner: true}
	for other, l := range m.lists {
		at := l.index(k)
		if at < 0 || other == e {
			continue
		}
		if l.entries[at].touched > touched {
			return
		}
		l.drop(k)
	}
	m.place(e, slowEntry{k, 0, touched})
}

func (m *slow) owner(conversation uint64) (int, bool) {
	for e, l := range m.lists {
		if l.index(key{hash: conversation, owner: true}) >= 0 {
			return e, true
		}
	}
	return 0, false
}

func (m *slow) nodes() (n int) {
	for _, l := range m.lists {
		n += len(l.entries)
	}
	return n
}

func (m *slow) slots() map[key]bool {
	all := map[key]bool{}
	for _, l := range m.lists {
		for _, x := range l.entries {
			all[x.key] = true
		}
	}
	return all
}

// share returns e's due of the arena, in nodes.
func (m *slow) share(e int) int {
	known, sum := 0.0, 0.0
	for _, l := range m.lists {
		if l.capacity > 0 {
			known++
			sum += float64(l.capacity)
		}
	}
	mean := 1.0
	if known > 0 {
		mean = sum / known
	}
	own := float64(m.lists[e].capacity)
	if own == 0 {
		own = mean
	}
	total := sum + (float64(len(m.lists))-known)*mean
	return int(own * (float64(m.config.Nodes) / total))
}

// evict drops the oldest entry of the endpoint furthest above its share.
func (m *slow) evict() {
	victim, most := -1, math.MinInt
	for e := range m.config.Endpoints {
		if l := m.lists[e]; l != nil && len(l.entries) > 0 {
			if above := len(l.entries) - m.share(e); above > most {
				victim, most = e, above
			}
		}
	}
	l := m.lists[victim]
	l.entries = l.entries[:len(l.entries)-1]
}

func (m *slow) holds(e int, k key) bool { return m.lists[e] != nil && m.lists[e].index(k) >= 0 }

// match returns the bytes of the chain's leading blocks that e holds.
func (m *slow) match(e int, c Chain, tags []uint64) uint32 {
	depth := uint32(0)
	for i, h := range c.Hashes {
		held := m.holds(e, key{hash: h, tag: c.Tag})
		for _, tag := range tags {
			held = held || c.AnyTag && m.holds(e, key{hash: h, tag: tag})
		}
		if !held {
			return depth
		}
		depth = c.Ends[i]
	}
	return depth
}

func (m *slow) age(e int, now time.Duration) time.Duration {
	l := m.lists[e]
	if l == nil {
		return 0
	}
	now = time.Duration(m.tick(now)) * time.Millisecond
	if l.bytes() == 0 {
		return AgeWhenEmpty
	}
	oldest := l.entries[len(l.entries)-1]
	age := float64(now - time.Duration(oldest.touched)*time.Millisecond)
	if l.capacity > 0 {
		return time.Duration(age * max(1, float64(l.capacity)/float64(l.bytes())))
	}
	return time.Duration(age * max(1, float64(m.share(e))/float64(len(l.entries))))
}
