// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

const (
	// stageSize is how much decoded text is gathered before it is hashed. Escapes come in clusters:
	// within one, bytes are copied and hashed later; between them text is hashed where it lies.
	stageSize = 1024

	// firstPiece is how much of a string is decoded before it is known whether it has escapes.
	firstPiece = 128 + decodeBytes

	// stageSlack is room for what one step may write behind stageSize: two words, and a run of UTF-8
	// that begins in the second.
	stageSlack = 2*wordBytes + octet

	// longestEscape is what the longest escape takes up, a pair of surrogates, of which the second
	// half is read with a word of its own; decodeBytes is what must be there for a step: two words
	// of text, then an escape or a run of UTF-8.
	longestEscape = 6 + wordBytes
	decodeBytes   = 2*wordBytes + octet
)

// text consumes the inside of a string as far as p has it.
func (s *Scanner) text(p []byte) int {
	i := 0
	if s.high == 0 {
		i = s.decodedText(p, firstPiece)
	} else if p[0] != '\\' {
		s.dropHigh()
	}
	for {
		i += s.cleanText(p[i:])
		if i == len(p) {
			return i
		}
		switch c := p[i]; {
		case c == '"':
			s.endText()
			return i + 1
		case c == '\\':
			if n := s.decodedText(p[i:], len(p)); n > 0 {
				i += n
				continue
			}
			s.state = inEscape
			return i + 1
		case c >= utf8.RuneSelf && !utf8.FullRune(p[i:]):
			s.held = uint8(copy(s.hold[:], p[i:]))
			s.state = inSequence
			return len(p)
		case c >= utf8.RuneSelf:
			s.fail(ReasonUTF8)
			return i
		default:
			s.fail(ReasonNotJSON)
			return i
		}
	}
}

// cleanWindow is how far cleanText looks before it hands over what it has found, so that the hash
// finds the bytes in the first-level cache.
const cleanWindow = 2048

// cleanText consumes text that needs no decoding.
func (s *Scanner) cleanText(p []byte) int {
	i := 0
	for {
		i += s.emitPlain(p[i:])
		n := clean(p[i:min(len(p), i+cleanWindow)])
		if n == 0 {
			return i
		}
		s.emit(p[i : i+n])
		i += n
	}
}

// decodedText consumes text that is decoded piece by piece, the first one no longer than first, for as
// long as each piece has an escape in it, and returns how much it took: 0 if p begins with an escape
// that is not a whole and valid one, or may have more of it in the next piece of the body.
func (s *Scanner) decodedText(p []byte, first int) int {
	if s.high != 0 {
		return 0
	}
	var stage [stageSize + stageSlack]byte
	i := 0
	for piece := p[:min(len(p), first)]; ; piece = p[i:] {
		n, took := decode(&stage, piece)
		if n > 0 {
			s.emit(stage[:n])
		}
		i += took
		if n == took {
			return i
		}
	}
}

// decode writes the text that src begins with to dst and returns the lengths of both. It stops when
// dst has stageSize bytes, when src has not enough for the longest thing that may come, before a
// quote, and before whatever needs a closer look.
//
// Each step writes two words or more, and counts what of it is text. The escapes of one letter stand
// in the loop itself, since a call costs as much as a step in wasm.
func decode(dst *[stageSize + stageSlack]byte, src []byte) (n, i int) {
	in, out := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(dst)
	for n < stageSize && i <= len(src)-decodeBytes {
		w, next := load(in, i), load(in, i+wordBytes)
		store(out, n, w)
		store(out, n+wordBytes, next)
		odd := oddBits(w)
		if odd == 0 {
			n += wordBytes
			i += wordBytes
			w, odd = next, oddBits(next)
			if odd == 0 {
				n += wordBytes
				i += wordBytes
				continue
			}
		}
		k := bits.TrailingZeros64(odd) &^ 7
		n += k >> 3
		i += k >> 3
		c := byte(w >> k)
		if c == '\\' {
			if d := unescaped[src[i+1]]; d != 0 {
				dst[n] = d
				n++
				i += 2
				continue
			}
		}
		m, took := decodeLong(dst, n, src[i:])
		if took == 0 {
			break
		}
		n += m
		i += took
	}
	return n, i
}

// decodeLong decodes what src begins with to dst[n:] if it is \u escapes or UTF-8.
func decodeLong(dst *[stageSize + stageSlack]byte, n int, src []byte) (m, took int) {
	switch {
	case src[0] == '\\' && src[1] == 'u':
		return unicodeEscapes(dst, n, src)
	case src[0] >= utf8.RuneSelf:
		took = multibyte(src[:min(len(src), stageSize+stageSlack-n)])
		copy(dst[n:], src[:took])
		return took, took
	}
	return 0, 0
}

// unicodeEscapes decodes the run of \u escapes that src begins with to dst[n:], up to stageSize.
func unicodeEscapes(dst *[stageSize + stageSlack]byte, n int, src []byte) (m, i int) {
	in, out := unsafe.Pointer(unsafe.SliceData(src)), unsafe.Pointer(dst)
	start := n
	for n < stageSize && i <= len(src)-longestEscape {
		w := load(in, i)
		r := hex4(w)
		if uint16(w) != '\\'|'u'<<8 || r < 0 {
			break
		}
		if r >= 0x800 && r < 0xd800 {
			r := uint32(r)
			store(out, n, uint64(0x8080e0|r>>12|r>>6&0x3f<<8|r&0x3f<<16))
			n += 3
			i += 6
			continue
		}
		took := 6
		if r >= 0xd800 && r <= 0xdfff {
			r, took = surrogates(r, src[i:])
		}
		n += utf8.EncodeRune(dst[n:n+utf8.UTFMax], r)
		i += took
	}
	return n - start, i
}

// unescaped is what a backslash and a byte stand for, 0 if nothing.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f',
}

// surrogates decodes the surrogate r and the other half that may follow in src, which begins with
// the escape of r.
func surrogates(r rune, src []byte) (rune, int) {
	if r <= 0xdbff && src[6] == '\\' && src[7] == 'u' {
		if low := hex4(word(src, 6)); low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 returns the value of the four hexadecimal digits behind the first two bytes of w, less than 0
// if they are none.
func hex4(w uint64) rune {
	return rune(hexDigit[byte(w>>16)])<<12 | rune(hexDigit[byte(w>>24)])<<8 |
		rune(hexDigit[byte(w>>32)])<<4 | rune(hexDigit[byte(w>>40)])
}

// hexDigit has the value of each hexadecimal digit, -1 for other bytes: or-ed together, a single one
// makes the whole negative.
var hexDigit = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range 16 {
		t["0123456789abcdef"[i]] = int8(i)
		t["0123456789ABCDEF"[i]] = int8(i)
	}
	return t
}()

// textByte takes one byte of an escape or of a UTF-8 sequence that needs more than one piece.
func (s *Scanner) textByte(c byte) int {
	switch s.state {
	case inSequence:
		s.sequenceByte(c)
	case inEscape:
		s.escapeByte(c)
	default:
		s.hexByte(c)
	}
	return 1
}

func (s *Scanner) sequenceByte(c byte) {
	s.hold[s.held] = c
	s.held++
	p := s.hold[:s.held]
	if !utf8.FullRune(p) {
		return
	}
	if r, n := utf8.DecodeRune(p); r == utf8.RuneError && n == 1 {
		s.fail(ReasonUTF8)
		return
	}
	s.state = inText
	s.emit(p)
}

func (s *Scanner) escapeByte(c byte) {
	if c == 'u' {
		s.state, s.held, s.hex = inHex, 0, 0
		return
	}
	s.dropHigh()
	s.hold[0] = unescaped[c]
	if s.hold[0] == 0 {
		s.fail(ReasonNotJSON)
		return
	}
	s.state = inText
	s.emit(s.hold[:1])
}

func (s *Scanner) hexByte(c byte) {
	d := hexDigit[c]
	if d < 0 {
		s.fail(ReasonNotJSON)
		return
	}
	s.hex = s.hex<<4 | uint16(d)
	s.held++
	if s.held < 4 {
		return
	}
	s.state = inText
	switch high := s.high; {
	case high != 0 && s.hex >= 0xdc00 && s.hex <= 0xdfff:
		s.high = 0
		s.emitRune(0x10000 + (rune(high)-0xd800)<<10 + (rune(s.hex) - 0xdc00))
	default:
		s.dropHigh()
		if s.hex >= 0xd800 && s.hex <= 0xdbff {
			s.high = s.hex
			return
		}
		s.emitRune(rune(s.hex))
	}
}

// dropHigh decodes a high surrogate whose other half did not come.
func (s *Scanner) dropHigh() {
	if s.high != 0 {
		s.high = 0
		s.emitRune(utf8.RuneError)
	}
}

// emitRune emits r in UTF-8; surrogates become U+FFFD.
func (s *Scanner) emitRune(r rune) {
	n := utf8.EncodeRune(s.hold[:], r)
	s.emit(s.hold[:n])
}

func (s *Scanner) endText() {
	if s.inKey {
		s.state = atColon
		s.endKey()
		return
	}
	s.afterValue()
	s.endString()
}
