// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// slowStream is a chain: its closed blocks and the open one.
type slowStream struct {
	limit  int
	blocks []slowBlock // closed blocks, hashes without role
	open   []byte      // bytes of the open block
	link   uint64
	pos    int
	start  int
	ends   int // blocks closed at message ends
	full   bool
}

type slowBlock struct {
	hash uint64
	end  int
}

func newSlowStream(seed uint64, label string, limit int) *slowStream {
	link := seededHash(seed, []byte(label))
	return &slowStream{link: link, limit: limit}
}

func seededHash(seed uint64, p []byte) uint64 {
	d := xxhash.NewWithSeed(seed)
	_, _ = d.Write(p)
	return d.Sum64()
}

// slowMix is mix as the package doc has it.
func slowMix(a, b uint64) uint64 {
	h := bits.RotateLeft64(a+11400714785074694791, 31)*9650029242287828579 ^ (b + 2870177450012600261)
	h = (h ^ h>>33) * 14029467366897019727
	h = (h ^ h>>29) * 1609587929392839161
	return h ^ h>>32
}

func (c *slowStream) text(p string) {
	for i := range len(p) {
		if !c.full {
			c.open = append(c.open, p[i])
		}
		c.move(1)
	}
}

func (c *slowStream) frame(p []byte, weight int) {
	if !c.full {
		c.open = append(c.open, p...)
	}
	c.move(weight)
}

func (c *slowStream) move(n int) {
	from := c.pos
	c.pos += n
	if !c.full && from/256 != c.pos/256 && slowGrid(from) != slowGrid(c.pos) {
		c.close()
		c.full = c.pos >= c.limit
	}
}

// slowGrid counts the grid points up to pos.
func slowGrid(pos int) int {
	n, _ := slices.BinarySearch(slowPoints, pos+1)
	return n
}

// slowPoints are the grid points one by one.
var slowPoints = func() (points []int) {
	for at := 0; at < 1<<24; {
		switch {
		case at < 4096:
			at += 256
		case at < 65536:
			at += 1024
		default:
			at += 4096
		}
		points = append(points, at)
	}
	return points
}()

func (c *slowStream) close() {
	c.link = seededHash(c.link, c.open)
	c.blocks = append(c.blocks, slowBlock{c.link, c.pos})
	c.open, c.start = nil, c.pos
}

// endMessage cuts at the end of a message if the budget allows, and gives the message's blocks their
// role.
func (c *slowStream) endMessage(first int, role uint64) {
	step := 4096
	if c.pos < 4096 {
		step = 256
	} else if c.pos < 65536 {
		step = 1024
	}
	free := c.ends < 16
	budget := c.ends < 16+slowGrid(c.pos)/4 && c.pos-c.start >= step/8
	if !c.full && c.pos > c.start && (free || budget) {
		c.ends++
		c.close()
	}
	for i := first; i < len(c.blocks); i++ {
		c.blocks[i].hash = slowMix(c.blocks[i].hash, role)
	}
}

func (c *slowStream) mark(role uint64) uint64 {
	if len(c.open) == 0 {
		return slowMix(c.link, role)
	}
	return slowMix(seededHash(c.link, c.open), role)
}
