// SPDX-License-Identifier: Apache-2.0

package prefix

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
		return s.literalByte(p[0])
	case s.state > inNumber:
		return s.number(p)
	default:
		return s.textByte(p[0])
	}
}

// structure consumes white space and punctuation up to the inside of a string, number or literal.
func (s *Scanner) structure(p []byte) int {
	for i, c := range p {
		switch c {
		case ' ', '\t', '\n', '\r':
			if s.state == atBOM1 || s.state == atBOM2 {
				s.fail(ReasonNotJSON)
				return i
			}
			continue
		}
		if s.punctuation(c) {
			continue
		}
		if s.reason != ReasonNone {
			return i
		}
		if c == '"' {
			return i + 1
		}
		return i // the first byte of a number or literal
	}
	return len(p)
}

// punctuation takes one byte between values. It returns false when the byte begins a string, a
// number or a literal, or is a fault.
func (s *Scanner) punctuation(c byte) bool {
	switch s.state {
	case atStart:
		if c == 0xef {
			s.state = atBOM1
			return true
		}
		return s.startValue(c)
	case atBOM1, atBOM2:
		return s.byteOrderMark(c)
	case atElement:
		if c == ']' {
			return s.closeContainer(false)
		}
		return s.startValue(c)
	case atValue:
		return s.startValue(c)
	case atMember, atKey:
		if c == '"' {
			s.state, s.inKey = inText, true
			s.beginKey()
			return false
		}
		if c == '}' && s.state == atMember {
			return s.closeContainer(true)
		}
	case atColon:
		if c == ':' {
			s.state = atValue
			return true
		}
	case atNext:
		return s.next(c)
	}
	s.fail(ReasonNotJSON)
	return false
}

func (s *Scanner) byteOrderMark(c byte) bool {
	switch {
	case s.state == atBOM1 && c == 0xbb:
		s.state = atBOM2
	case s.state == atBOM2 && c == 0xbf:
		s.state = atValue
	default:
		s.fail(ReasonNotJSON)
		return false
	}
	return true
}

// next takes the byte behind a value inside a container.
func (s *Scanner) next(c byte) bool {
	object := s.inObject()
	switch {
	case c == ',' && object:
		s.state = atKey
		return true
	case c == ',':
		s.state = atValue
		s.nextElement()
		return true
	case c == '}' && object, c == ']' && !object:
		return s.closeContainer(object)
	}
	s.fail(ReasonNotJSON)
	return false
}

// startValue takes the first byte of a value.
func (s *Scanner) startValue(c byte) bool {
	switch c {
	case '{', '[':
		return s.openContainer(c == '{')
	case '"':
		s.state, s.inKey = inText, false
		s.beginString()
	case 't', 'f', 'n':
		s.literal = literalTrue
		if c == 'f' {
			s.literal = literalFalse
		} else if c == 'n' {
			s.literal = literalNull
		}
		s.held, s.state = 0, inLiteral
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s.state = numberStart
		s.beginNumber()
	default:
		s.fail(ReasonNotJSON)
	}
	return false
}

func (s *Scanner) openContainer(object bool) bool {
	if s.depth == MaxDepth {
		s.fail(ReasonTooDeep)
		return false
	}
	word, bit := uint(s.depth)/64, uint(s.depth)%64
	s.objects[word] &^= 1 << bit
	s.state = atElement
	if object {
		s.objects[word] |= 1 << bit
		s.state = atMember
	}
	s.depth++
	s.enter(object)
	return s.reason == ReasonNone
}

func (s *Scanner) closeContainer(object bool) bool {
	s.depth--
	s.afterValue()
	s.leave(object)
	return s.reason == ReasonNone
}

// afterValue sets the state for what may follow a value.
func (s *Scanner) afterValue() {
	s.state = atNext
	if s.depth == 0 {
		s.state = atEnd
	}
}

// literalByte takes one byte of true, false or null.
func (s *Scanner) literalByte(c byte) int {
	word := literals[s.literal]
	if c != word[s.held] {
		s.fail(ReasonNotJSON)
		return 0
	}
	s.held++
	if int(s.held) == len(word) {
		s.afterValue()
		s.endLiteral()
	}
	return 1
}
