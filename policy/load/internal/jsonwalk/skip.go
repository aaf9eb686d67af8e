// SPDX-License-Identifier: Apache-2.0

package jsonwalk

import (
	"encoding/binary"
	"math/bits"
)

// beginSkip begins to skip an object or array that just began or, for leftover, the rest of the
// innermost open one.
func (w *Walker[T]) beginSkip(leftover bool) {
	w.token = skipped
	w.nested, w.quoted, w.escaped, w.leftover = 1, false, false, leftover
}

// skip passes over bytes and returns how many.
func (w *Walker[T]) skip(p []byte) int {
	i := 0
	for i < len(p) && w.token == skipped {
		i += w.skipWords(p[i:])
		i += w.skipBytes(p[i:min(i+8, len(p))])
	}
	return i
}

// skipBytes passes over single bytes, up to the skip's end, and returns how many.
func (w *Walker[T]) skipBytes(p []byte) int {
	for i, c := range p {
		switch {
		case w.escaped:
			w.escaped = false
		case c == '"':
			w.quoted = !w.quoted
		case w.quoted:
			w.escaped = c == '\\'
		case c == '{' || c == '[':
			w.nested++
		case c == '}' || c == ']':
			w.nested--
			if w.nested == 0 {
				w.endSkip()
				return i + 1
			}
		}
	}
	return len(p)
}

func (w *Walker[T]) endSkip() {
	w.token = noToken
	if w.leftover {
		w.end(w.open[len(w.open)-1].array)
		return
	}
	w.afterValue()
}

// skipWords passes over eight bytes at a time for as long as they have no backslash and can't
// hold the skip's end, and returns how many. It keeps no branch for quotes and brackets, which
// are hard to predict: marks of strings come from the parity of the quotes before each byte.
func (w *Walker[T]) skipWords(p []byte) int {
	if w.escaped {
		return 0
	}
	inside := uint64(0) // all ones in a string
	if w.quoted {
		inside = ^inside
	}
	nested, i := w.nested, 0
	for ; len(p)-i >= 8; i += 8 {
		word := binary.LittleEndian.Uint64(p[i:])
		if equal(word, '\\') != 0 {
			break
		}
		quotes := equal(word, '"')
		quotes ^= quotes << 8
		quotes ^= quotes << 16
		quotes ^= quotes << 32
		outside := ^(quotes ^ inside)
		folded := word | each*0x20 // [ becomes {, ] becomes }
		closed := bits.OnesCount64(equal(folded, '}') & outside)
		if closed >= nested {
			break
		}
		nested += bits.OnesCount64(equal(folded, '{')&outside) - closed
		inside ^= uint64(int64(quotes) >> 63)
	}
	w.nested, w.quoted = nested, inside != 0
	return i
}

// each has a 1 in each byte.
const each = 0x0101010101010101

// equal sets the highest bit of each byte of word that is c, and no other bit.
func equal(word uint64, c byte) uint64 {
	const low = each * 0x7f
	v := word ^ each*uint64(c)
	return ^((v&low + low) | v | low)
}
