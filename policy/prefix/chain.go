// SPDX-License-Identifier: Apache-2.0

package prefix

import "encoding/binary"

// Block boundaries fall on a grid of canonical offsets that gets coarser with depth, and at the ends
// of messages as far as a budget goes: dense where most prompts part, and few enough for a fixed
// array where they are long.
const (
	fineStep, fineEnd     = 256, 4 << 10
	middleStep, middleEnd = 1 << 10, 64 << 10
	coarseStep            = 4 << 10

	// freeEnds message ends make a block whatever its size, so that short conversations match to
	// the byte; later ones only one for every gridPerEnd grid points passed, and only if the block
	// has at least an eighth of its step.
	freeEnds   = 16
	gridPerEnd = 4

	// maxSystem bounds the part of a system prompt outside the messages that is hashed.
	maxSystem = 128 << 10

	// maxBlocks holds the grid up to MaxHashed with all message ends (316 + 16 + 79), and the grid
	// up to maxSystem with its end (92 + 1).
	maxBlocks = 316 + freeEnds + 316/gridPerEnd + 92 + 1
)

// Version is the number of the canonical stream's format. It is in the seed of every chain, so that
// different formats share no hash.
const Version = "1"

// chain is one run of blocks: the system prompt, or the messages. Its hashes depend on the
// chain's own bytes only. Invariant: pos < next, unless the limit is reached.
type chain struct {
	d       digest
	link    uint64 // hash of all blocks so far
	pos     int    // canonical offset in this chain; goes on behind limit
	start   int    // where the open block began
	next    int    // next grid point
	limit   int    // offset at which hashing stops
	endings int    // blocks closed at message ends
	full    bool   // pos has passed limit
}

// begin starts an empty chain.
func (c *chain) begin(seed uint64, limit int) {
	*c = chain{link: seed, next: fineStep, limit: limit}
	c.d.reset(seed)
}

// gridPoints returns how many grid points lie in (0, pos].
func gridPoints(pos int) int {
	switch {
	case pos <= fineEnd:
		return pos / fineStep
	case pos <= middleEnd:
		return fineEnd/fineStep + (pos-fineEnd)/middleStep
	default:
		return fineEnd/fineStep + (middleEnd-fineEnd)/middleStep + (pos-middleEnd)/coarseStep
	}
}

// gridStep returns the distance of the grid points after pos.
func gridStep(pos int) int {
	switch {
	case pos < fineEnd:
		return fineStep
	case pos < middleEnd:
		return middleStep
	default:
		return coarseStep
	}
}

// wantsEnd reports whether a message that ends here closes the open block, by the rule at freeEnds.
func (c *chain) wantsEnd() bool {
	switch {
	case c.full || c.pos == c.start:
		return false
	case c.endings < freeEnds:
		return true
	default:
		return c.endings < freeEnds+gridPoints(c.pos)/gridPerEnd && c.pos-c.start >= gridStep(c.pos)/8
	}
}

// close ends the open block and begins the next. It returns the block's hash.
func (c *chain) close() uint64 {
	c.link = c.d.sum()
	c.d.reset(c.link)
	c.start = c.pos
	step := gridStep(c.pos)
	c.next = c.pos - c.pos%step + step
	return c.link
}

// hash returns what link would be if a block ended here.
func (c *chain) hash() uint64 {
	if c.d.total == 0 {
		return c.link
	}
	return c.d.sum()
}

// put adds canonical bytes; each counts one.
func (s *Scanner) put(p []byte) {
	c := &s.c
	if s.tap != nil {
		*s.tap = append(*s.tap, p...)
	}
	for len(p) > 0 && !c.full {
		n := min(len(p), c.next-c.pos)
		c.d.write(p[:n])
		p = p[n:]
		s.advance(n)
	}
	c.pos += len(p)
}

// putPlain adds the plain text that p begins with, as far as it is cheap, and returns its length.
// Whatever it leaves goes through clean and put.
func (s *Scanner) putPlain(p []byte) int {
	c := &s.c
	i := 0
	for i < len(p) && !c.full {
		q := p[i:min(len(p), i+c.next-c.pos)]
		n := 0
		if c.d.n == 0 && len(q) >= stripe {
			n = c.d.text(q)
		} else {
			q = q[:min(len(q), stripe-c.d.n)]
			if n = plain(q); n < len(q) {
				break
			}
			c.d.write(q)
		}
		if n == 0 {
			break
		}
		i += n
		s.advance(n)
	}
	if s.tap != nil {
		*s.tap = append(*s.tap, p[:i]...)
	}
	return i
}

// frame adds framing, with up to two hashes, that stands for weight canonical bytes.
func (s *Scanner) frame(kind byte, weight int, hashes ...uint64) {
	b := [2 + 2*wordBytes]byte{frameMark, kind}
	n := 2
	for _, h := range hashes {
		binary.LittleEndian.PutUint64(b[n:], h)
		n += wordBytes
	}
	if s.tap != nil {
		*s.tap = append(*s.tap, b[:n]...)
	}
	c := &s.c
	if c.full {
		c.pos += weight
		return
	}
	c.d.write(b[:n])
	s.advance(weight)
}

// advance moves the offset by n bytes that are hashed already, and closes the block if that reaches
// a grid point or the limit.
func (s *Scanner) advance(n int) {
	c := &s.c
	c.pos += n
	if c.pos < c.next {
		return
	}
	s.closeBlock()
	c.full = c.pos >= c.limit
}

// closeBlock ends the open block of the running chain and records it. Its hash gets the role of the
// message mixed in as soon as that is known.
func (s *Scanner) closeBlock() {
	c := &s.c
	h := c.close()
	if s.plainPrompt && !s.keyKnown && c.pos >= keyBytes {
		s.key, s.keyKnown = mix(h, s.role), true
	}
	if s.n == maxBlocks || s.base+c.pos > s.config.MaxBytes {
		return
	}
	if s.roleKnown {
		h = mix(h, s.role)
	}
	s.hashes[s.n] = h
	s.ends[s.n] = uint32(s.base + c.pos)
	s.n++
	if s.roleKnown && !s.late {
		s.published = s.n
	}
}

// mark returns the hash of a block that would end here.
func (s *Scanner) mark() uint64 { return mix(s.c.hash(), s.role) }
