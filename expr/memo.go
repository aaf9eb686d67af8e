// SPDX-License-Identifier: Apache-2.0

package expr

// memoEntries bounds the memo. A gateway sees few different headers at a time;
// more only cost a parse each.
const memoEntries = 256

// memo maps the bytes of target and header to what they came to. Only what was
// accepted is in it. The oldest goes first.
//
// Invariant: found holds exactly the keys that are not empty in order.
type memo[D, S any] struct {
	found map[string]memoized[D, S]
	order [memoEntries]string
	next  int // place in order of the oldest
}

// memoized is an entry of the cache, or a configured definition.
type memoized[D, S any] struct {
	entry     *entryOf[D, S] // nil: base
	base      *Static
	requested string // the method as it was written
}

// find does not allocate.
func (m *memo[D, S]) find(key []byte) (memoized[D, S], bool) {
	v, ok := m.found[string(key)]
	return v, ok
}

func (m *memo[D, S]) store(key []byte, v memoized[D, S]) {
	if _, known := m.found[string(key)]; known {
		m.found[string(key)] = v
		return
	}
	if oldest := m.order[m.next]; oldest != "" {
		delete(m.found, oldest)
	}
	m.order[m.next] = string(key)
	m.found[m.order[m.next]] = v
	m.next = (m.next + 1) % memoEntries
}

func (m *memo[D, S]) clear() {
	*m = memo[D, S]{found: make(map[string]memoized[D, S], memoEntries)}
}
