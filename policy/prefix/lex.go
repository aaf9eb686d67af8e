// SPDX-License-Identifier: Apache-2.0

package prefix

import "math/bits"

// state is the place in the JSON grammar (RFC 8259) where the next byte belongs.
type state uint8

const (
	atStart state = iota // before the value; a byte order mark may come
	atBOM1               // one byte of the mark has been read
	atBOM2
	atValue    // a value must come
	atElement  // the first element of an array, or its end
	atMember   // the first key of an object, or its end
	atKey      // a key must come
	atColon    // between key and value
	atNext     // behind a value inside a container
	atEnd      // behind the outermost value: white space only
	inText     // in a string
	inSequence // in a UTF-8 sequence that the last piece has cut
	inEscape   // behind a backslash
	inHex      // in the digits of \u
	inLiteral  // in true, false or null
	inNumber   // the states behind this one, in number.go, are inside a number
)

// lexer is the resumable state of the JSON grammar. Containers are a stack of bits, so the depth
// costs one bit a level and there is no recursion.
type lexer struct {
	state   state
	inKey   bool   // the string being read is a key
	literal uint8  // index into literals
	held    uint8  // inLiteral: bytes matched; inSequence: bytes in hold; inHex: digits read
	high    uint16 // high surrogate that waits for its other half
	hex     uint16 // digits of \u so far
	hold    [4]byte
	depth   int
	objects [MaxDepth / 64]uint64 // bit set: the container at that depth is an object
}

func (l *lexer) reset() { l.state, l.inKey, l.high, l.depth = atStart, false, 0, 0 }

var literals = [...]string{"true", "false", "null"}

const (
	literalTrue = iota
	literalFalse
	literalNull
)

// inObject reports whether the innermost container is an object.
func (l *lexer) inObject() bool {
	d := uint(l.depth - 1)
	return l.objects[d/64%uint(len(l.objects))]>>(d%64)&1 != 0
}

// lex consumes some of p and returns how much, at least 1 unless it fails or changes the state.
func (s *Scanner) lex(p []byte) int {
	switch {
	case s.state == inText:
		return s.text(p)
	case s.state < inText:
		return s.structure(p)
	case s.state == inLiteral:
		return s.restOfLiteral(p)
	case s.state > inNumber:
		return s.number(p)
	default:
		return s.textByte(p[0])
	}
}

// Sets of the states in which a byte may come.
const (
	mayValue  = 1<<atStart | 1<<atValue | 1<<atElement
	mayKey    = 1<<atKey | 1<<atMember
	mayObject = 1<<atNext | 1<<atMember  // the end of an object
	mayArray  = 1<<atNext | 1<<atElement // the end of an array
)

// structure consumes what stands between long strings: white space, punctuation, numbers, literals,
// and the strings that end soon. What is frequent stands first, and the strings inside fields, which
// most of a body with tools is of, in the loop itself: a call costs more than the hash of a key in
// wasm.
func (s *Scanner) structure(p []byte) int {
	i := 0
	for i < len(p) && s.reason == ReasonNone && s.state < inText {
		switch c, at := p[i], 1<<s.state; {
		case c == '"' && s.node == nodeField && (at&mayKey != 0 || at&mayValue != 0 && s.target == targetInner):
			n, hash := hashShort(p[i+1:])
			switch {
			case n < 0:
				i += s.startText()
			case at&mayKey != 0:
				s.fieldKey(p[i+1:i+1+n], hash, n)
				i = s.colon(p, i+n+2)
			default:
				s.afterValue()
				s.leaf(leafString, hash, n)
				i += n + 2
			}
		case c == '"':
			i += s.quote(p[i:])
		case c == ',' && s.state == atNext:
			i++
			s.state = atKey
			if !s.inObject() {
				s.state = atValue
				s.nextElement()
			}
		case c <= ' ':
			i += s.space(p[i:])
		case (c == '{' || c == '[') && at&mayValue != 0:
			i++
			s.openContainer(c == '{')
		case c == '}' && at&mayObject != 0 && s.inObject(), c == ']' && at&mayArray != 0 && !s.inObject():
			i++
			s.closeContainer()
		case c == ':' && s.state == atColon:
			i++
			s.state = atValue
		case at&mayValue != 0:
			i += s.startValue(c, p[i:])
		default:
			i += s.byteOrderMark(c)
		}
	}
	return i
}

// quote takes the string that p begins with, and the colon behind a key, if it is a short one; of
// others only the quote, which changes the state.
func (s *Scanner) quote(p []byte) int {
	n := short(p[1:])
	switch at := 1 << s.state; {
	case n >= 0 && at&mayKey != 0:
		s.lookUp(p[1 : 1+n])
		return s.colon(p, n+2)
	case n >= 0 && at&mayValue != 0:
		s.afterValue()
		s.shortString(p[1 : 1+n])
		return n + 2
	}
	return s.startText()
}

// colon takes the colon behind a key if it is there, and returns the offset behind it.
func (s *Scanner) colon(p []byte, i int) int {
	s.state = atColon
	if i < len(p) && p[i] == ':' {
		s.state = atValue
		i++
	}
	return i
}

// startText takes the quote in front of a string that comes in pieces.
func (s *Scanner) startText() int {
	switch at := 1 << s.state; {
	case at&mayKey != 0:
		s.state, s.inKey = inText, true
		s.beginKey()
	case at&mayValue != 0:
		s.state, s.inKey = inText, false
		s.beginString()
	default:
		s.fail(ReasonNotJSON)
	}
	return 1
}

// shortText is how far a string is searched for its end before it is read as a long one.
const shortText = 128

// short returns the length of the string that p begins with, if it is plain and its quote stands
// among the next words, else -1.
func short(p []byte) int {
	for i := 0; i < shortText && len(p)-i >= wordBytes; i += wordBytes {
		w := word(p, i)
		if odd := oddBits(w); odd != 0 {
			k := bits.TrailingZeros64(odd) &^ 7
			if byte(w>>k) == '"' {
				return i + k>>3
			}
			break
		}
	}
	return -1
}

// space returns the length of the white space that p begins with.
func (s *Scanner) space(p []byte) int {
	const blanks = 0x2020202020202020
	i := 0
	for i < len(p) && (p[i] == ' ' || p[i] == '\n' || p[i] == '\r' || p[i] == '\t') {
		i++
		for run := wordBytes; run == wordBytes && len(p)-i >= wordBytes; i += run {
			run = bits.TrailingZeros64(word(p, i)^blanks) >> 3
		}
	}
	if i == 0 || s.state == atBOM1 || s.state == atBOM2 {
		s.fail(ReasonNotJSON)
	}
	if s.state == atStart {
		s.state = atValue
	}
	return i
}

// byteOrderMark takes a byte of the mark that a body may begin with. It is where all bytes end that
// fit nowhere else.
func (s *Scanner) byteOrderMark(c byte) int {
	switch {
	case s.state == atBOM1 && c == 0xbb:
		s.state = atBOM2
	case s.state == atBOM2 && c == 0xbf:
		s.state = atValue
	default:
		s.fail(ReasonNotJSON)
	}
	return 1
}

// startValue takes the start of a value that is no string and no container.
func (s *Scanner) startValue(c byte, p []byte) int {
	switch c {
	case 't':
		return s.startLiteral(literalTrue, p)
	case 'f':
		return s.startLiteral(literalFalse, p)
	case 'n':
		return s.startLiteral(literalNull, p)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if s.target == targetElement && s.node == nodeList {
			if n := s.tokenIDs(p); n > 0 {
				return n
			}
		}
		s.state = numberStart
		s.beginNumber()
		return s.number(p)
	case 0xef:
		if s.state == atStart {
			s.state = atBOM1
			return 1
		}
		fallthrough
	default:
		s.fail(ReasonNotJSON)
	}
	return 1
}

func (s *Scanner) openContainer(object bool) {
	if s.depth == MaxDepth {
		s.fail(ReasonTooDeep)
		return
	}
	at, bit := uint(s.depth)/64, uint(s.depth)%64
	s.objects[at] &^= 1 << bit
	s.state = atElement
	if object {
		s.objects[at] |= 1 << bit
		s.state = atMember
	}
	s.depth++
	if s.node == nodeField && s.target == targetInner {
		s.openField(object)
		return
	}
	s.enter(object)
}

func (s *Scanner) closeContainer() {
	s.depth--
	s.afterValue()
	s.leave()
}

// afterValue sets the state for what may follow a value.
func (s *Scanner) afterValue() {
	s.state = atNext
	if s.depth == 0 {
		s.state = atEnd
	}
}

func (s *Scanner) startLiteral(which uint8, p []byte) int {
	s.literal, s.held, s.state = which, 0, inLiteral
	return s.restOfLiteral(p)
}

// restOfLiteral takes bytes of true, false or null.
func (s *Scanner) restOfLiteral(p []byte) int {
	rest := literals[s.literal][s.held:]
	n := min(len(rest), len(p))
	if string(p[:n]) != rest[:n] {
		s.fail(ReasonNotJSON)
		return 0
	}
	s.held += uint8(n)
	if n == len(rest) {
		s.afterValue()
		s.endLiteral()
	}
	return n
}
