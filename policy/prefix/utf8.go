// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A word holds eight bytes of text, the first in the lowest bits. Carries run towards later bytes
// only, so what a test says of the first odd byte is right whatever stands behind it.
const (
	highBits uint64 = 0x8080808080808080
	low7     uint64 = 0x7f7f7f7f7f7f7f7f
)

// plainBits returns a word whose high bits are set for the bytes that are no quote, no backslash and
// no control byte. It is right for bytes below 0x80 only; the caller looks at the others.
//
// Flipping bit 1 brings the quote (0x22) to 0x20, next to the control bytes, and moves none of the
// others across that border: one addition finds both.
func plainBits(w uint64) uint64 {
	return ((w ^ 0x0202020202020202) + 0x5f5f5f5f5f5f5f5f) & ((w ^ 0x5c5c5c5c5c5c5c5c) + low7)
}

// plain returns how many bytes at the start of p are plain: ASCII without quote, backslash and
// control bytes.
func plain(p []byte) int {
	i := 0
	for ; len(p)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		if odd := (^plainBits(w) | w) & highBits; odd != 0 {
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
	for {
		i += plain(p[i:])
		if i == len(p) || p[i] < utf8.RuneSelf {
			return i
		}
		n := multibyte(p[i:])
		if n == 0 {
			return i
		}
		i += n
	}
}

// multibyte returns how many bytes at the start of p are whole UTF-8 sequences of two to four bytes.
func multibyte(p []byte) int {
	i := 0
	for len(p)-i >= 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		if n := pair3(w); n > 0 {
			i += n
			continue
		}
		n := sequence(w)
		if n == 0 {
			return i
		}
		i += n
	}
	for i < len(p) && p[i] >= utf8.RuneSelf {
		_, n := utf8.DecodeRune(p[i:])
		if n == 1 {
			return i
		}
		i += n
	}
	return i
}

// noLead has a bit for each low half of a three-byte lead whose second byte is restricted: 0xE0
// (overlong) and 0xED (surrogates).
const noLead = 1<<0x0 | 1<<0xd

// pair3 returns 6 if w begins with two three-byte sequences that need no second look, else 0. Most
// of the text of Chinese, Japanese and Korean prompts passes here.
func pair3(w uint64) int {
	if w&0xc0c0f0c0c0f0 != 0x8080e08080e0 || noLead>>(w&15)&1 != 0 || noLead>>(w>>24&15)&1 != 0 {
		return 0
	}
	return 6
}

// sequence returns the length of the UTF-8 sequence of two to four bytes that w begins with, 0 if
// there is none (RFC 3629 §4).
func sequence(w uint64) int {
	switch {
	case w&0xc0e0 == 0x80c0 && w&0x1e != 0:
		return 2
	case w&0xc0c0f0 == 0x8080e0:
		lead, second := w&15, w>>8&0x3f
		if lead == 0 && second < 0x20 || lead == 0xd && second >= 0x20 {
			return 0
		}
		return 3
	case w&0xc0c0c0f8 == 0x808080f0:
		if v := w&7<<6 | w>>8&0x3f; v < 0x10 || v >= 0x110 {
			return 0
		}
		return 4
	}
	return 0
}
