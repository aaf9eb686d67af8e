// SPDX-License-Identifier: Apache-2.0

package table

import "time"

// Since returns how long ago endpoint e's placement of a block was touched;
// false if e isn't believed to hold it. Resolution 1 ms.
func (t *Table) Since(e int, hash, tag uint64, now time.Duration) (time.Duration, bool) {
	if !t.live(e) {
		return 0, false
	}
	t.tick(now)
	n := t.findNode(t.find(key{hash: hash, tag: tag}), e)
	if n == 0 {
		return 0, false
	}
	return time.Duration(t.age(n)) * time.Millisecond, true
}
