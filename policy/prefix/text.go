// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	// stageSize is how much decoded text is gathered before it is hashed. Escapes come in clusters;
	// within one, bytes are copied and hashed later, between them text is hashed where it lies.
	stageSize = 512

	// maxDecoded is the longest that one escape decodes to, and longestEscape what it takes up.
	maxDecoded    = 4
	longestEscape = len(`\ud83d\ude00`)
)

// text consumes the inside of a string as far as p has it.
func (s *Scanner) text(p []byte) int {
	i := 0
	if s.high != 0 {
		if p[0] != '\\' {
			s.dropHigh()
		}
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
			if n := s.escapedText(p[i:]); n > 0 {
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

// escapedText consumes text that begins with an escape, decodes it piece by piece, and returns how
// much it took: 0 if the first escape is not a whole and valid one, or may have more of it in the
// next piece of the body.
func (s *Scanner) escapedText(p []byte) int {
	if s.high != 0 {
		return 0
	}
	var stage [stageSize + 8]byte
	n, took := decode(&stage, p)
	if n > 0 {
		s.emit(stage[:n])
	}
	return took
}

// decode writes the text that src begins with to dst and returns the lengths of both. It stops where
// either has no room for one more escape, before a quote, and before whatever needs a closer look.
func decode(dst *[stageSize + 8]byte, src []byte) (n, i int) {
	for n < stageSize-maxDecoded && len(src)-i >= longestEscape {
		w := binary.LittleEndian.Uint64(src[i:])
		odd := (^plainBits(w) | w) & highBits
		binary.LittleEndian.PutUint64(dst[n:], w)
		if odd == 0 {
			n += 8
			i += 8
			continue
		}
		k := bits.TrailingZeros64(odd) >> 3
		n += k
		i += k
		if len(src)-i < longestEscape || n > stageSize-maxDecoded {
			return n, i
		}
		switch c := src[i]; {
		case c == '\\' && src[i+1] != 'u':
			d := unescape(src[i+1])
			if d == 0 {
				return n, i
			}
			dst[n] = d
			n++
			i += 2
		case c == '\\':
			r, took := unicodeEscape(src[i:])
			if took == 0 {
				return n, i
			}
			n += utf8.EncodeRune(dst[n:n+maxDecoded], r)
			i += took
		case c >= utf8.RuneSelf:
			took := multibyte(src[i : i+4])
			if took == 0 {
				return n, i
			}
			n += copy(dst[n:], src[i:i+took])
			i += took
		default:
			return n, i
		}
	}
	return n, i
}

// unescape returns what a backslash and c stand for, 0 if nothing.
func unescape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

// unicodeEscape decodes the \u escape that p begins with, of which p holds longestEscape bytes at
// least. It returns the length 0 for bad digits.
func unicodeEscape(p []byte) (r rune, took int) {
	r = hex4(p[2:6])
	switch {
	case r < 0:
		return 0, 0
	case r < 0xd800 || r > 0xdfff:
		return r, 6
	case r <= 0xdbff && p[6] == '\\' && p[7] == 'u':
		if low := hex4(p[8:12]); low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 returns the value of four hexadecimal digits, less than 0 if they are none.
func hex4(p []byte) rune {
	_ = p[3]
	v := int32(hexDigit[p[0]])<<12 | int32(hexDigit[p[1]])<<8 | int32(hexDigit[p[2]])<<4 | int32(hexDigit[p[3]])
	return v
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
	d := unescape(c)
	if d == 0 {
		s.fail(ReasonNotJSON)
		return
	}
	s.state = inText
	s.hold[0] = d
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
