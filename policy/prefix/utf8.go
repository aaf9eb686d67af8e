// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// A word holds eight bytes of text, the first in the lowest bits. Carries run towards later bytes
// only, so what a test says of the first odd byte is right whatever stands behind it.
const (
	wordBytes        = 8
	highBits  uint64 = 0x8080808080808080
	low7      uint64 = 0x7f7f7f7f7f7f7f7f
)

func word(p []byte, i int) uint64 { return binary.LittleEndian.Uint64(p[i:]) }

// load and store move a word at an offset that the caller has checked against the length. They
// stand in the two loops that decode escapes, where the checks of a slice cost a third of the time
// in wasm.
func load(p unsafe.Pointer, i int) uint64 {
	return binary.LittleEndian.Uint64((*[wordBytes]byte)(unsafe.Add(p, i))[:])
}

func store(p unsafe.Pointer, i int, w uint64) {
	binary.LittleEndian.PutUint64((*[wordBytes]byte)(unsafe.Add(p, i))[:], w)
}

// plainBits returns a word whose high bits are set for the bytes that are no quote, no backslash and
// no control byte. It is right for bytes below 0x80 only; the caller looks at the others.
//
// Flipping bit 1 brings the quote (0x22) to 0x20, next to the control bytes, and moves none of the
// others across that border: one addition finds both.
func plainBits(w uint64) uint64 {
	return ((w ^ 0x0202020202020202) + 0x5f5f5f5f5f5f5f5f) & ((w ^ 0x5c5c5c5c5c5c5c5c) + low7)
}

// oddBits returns a word whose lowest set bit is the high bit of the first byte that is not plain:
// a quote, a backslash, a control byte, or one of a longer UTF-8 sequence; 0 if there is none.
func oddBits(w uint64) uint64 { return (^plainBits(w) | w) & highBits }

// plain returns how many bytes at the start of p are plain: ASCII without quote, backslash and
// control bytes.
func plain(p []byte) int {
	i := 0
	for ; len(p)-i >= wordBytes; i += wordBytes {
		if odd := oddBits(word(p, i)); odd != 0 {
			return i + bits.TrailingZeros64(odd)>>3
		}
	}
	for i < len(p) && isPlain(p[i]) {
		i++
	}
	return i
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// clean returns how many bytes at the start of p are plain or whole UTF-8 sequences.
func clean(p []byte) int {
	i := 0
	for len(p)-i >= octet {
		w := word(p, i)
		odd := oddBits(w)
		if odd == 0 {
			i += wordBytes
			continue
		}
		k := bits.TrailingZeros64(odd) &^ 7
		i += k >> 3
		if byte(w>>k) < utf8.RuneSelf {
			return i
		}
		n := multibyte(p[i:])
		if n == 0 {
			return i
		}
		i += n
	}
	for i < len(p) {
		if isPlain(p[i]) {
			i++
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if n < 2 || r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return i
}

// multibyte returns how many bytes at the start of p are whole UTF-8 sequences of two to four bytes,
// looked for as long as p has an octet.
func multibyte(p []byte) int {
	i := 0
	for len(p)-i >= octet {
		if isOctet(word(p, i), word(p, i+8), word(p, i+16)) {
			i += octet
			continue
		}
		n := sequence(word(p, i))
		if n == 0 {
			break
		}
		i += n
	}
	if i == 0 && len(p) < octet {
		if _, n := utf8.DecodeRune(p); n > 1 {
			return n
		}
	}
	return i
}

// octet is the length of eight three-byte sequences, which fill three words. Most of the text of
// Chinese, Japanese and Korean prompts comes in such runs.
const octet = 24

// isOctet reports whether three words are eight three-byte sequences. It says no to those with the
// leads 0xE0 and 0xED, whose second byte is restricted: sequence looks at them. The low halves of
// the eight leads stand at different places in the three words and so fit into one.
func isOctet(a, b, c uint64) bool {
	bad := (a&0xc0f0c0c0f0c0c0f0 ^ 0x80e08080e08080e0) |
		(b&0xf0c0c0f0c0c0f0c0 ^ 0xe08080e08080e080) |
		(c&0xc0c0f0c0c0f0c0c0 ^ 0x8080e08080e08080)
	leads := a&0x000f00000f00000f | b&0x0f00000f00000f00 | c&0x00000f00000f0000
	good := (leads + low7) & ((leads ^ 0x0d0d0d0d0d0d0d0d) + low7) & highBits
	return bad == 0 && good == highBits
}

// sequence returns the length of the UTF-8 sequence of two to four bytes that w begins with, 0 if
// there is none (RFC 3629 §4).
func sequence(w uint64) int {
	switch {
	case w&0xc0c0f0 == 0x8080e0:
		lead, second := w&15, w>>8&0x3f
		if lead == 0 && second < 0x20 || lead == 0xd && second >= 0x20 {
			return 0
		}
		return 3
	case w&0xc0e0 == 0x80c0 && w&0x1e != 0:
		return 2
	case w&0xc0c0c0f8 == 0x808080f0:
		if v := w&7<<6 | w>>8&0x3f; v < 0x10 || v >= 0x110 {
			return 0
		}
		return 4
	}
	return 0
}
