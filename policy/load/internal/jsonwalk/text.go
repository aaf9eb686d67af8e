// SPDX-License-Identifier: Apache-2.0

package jsonwalk

import "unicode/utf8"

// text gathers a token that may be spread over windows.
type text struct {
	buf  [MaxText]byte
	n    int
	cut  bool
	hex  int  // digits of a \u escape still to come; -1 after a backslash
	code rune // the \u escape so far
	high rune // a high surrogate that waits for its other half, 0 for none
}

func (t *text) reset() {
	t.n, t.cut, t.hex, t.high = 0, false, 0, 0
}

// untouched reports whether nothing of the token has been gathered.
func (t *text) untouched() bool {
	return t.n == 0 && !t.cut && t.high == 0
}

// token returns what has been gathered.
func (t *text) token() []byte {
	return t.buf[:t.n]
}

func (t *text) append(b []byte) {
	n := copy(t.buf[t.n:], b)
	t.n += n
	t.cut = t.cut || n < len(b)
}

func (t *text) appendRune(r rune) {
	var b [utf8.UTFMax]byte
	t.append(b[:utf8.EncodeRune(b[:], r)])
}

// flush ends a high surrogate that has no other half.
func (t *text) flush() {
	if t.high != 0 {
		t.appendRune(utf8.RuneError)
		t.high = 0
	}
}

// escape takes the next byte of an escape, after its backslash; false where it can't be one.
func (t *text) escape(c byte) bool {
	if t.hex < 0 {
		return t.escapeKind(c)
	}
	d, ok := hexDigit(c)
	if !ok {
		return false
	}
	t.code = t.code<<4 | d
	t.hex--
	if t.hex == 0 {
		t.unit(t.code)
	}
	return true
}

func (t *text) escapeKind(c byte) bool {
	t.hex = 0
	switch c {
	case 'u':
		t.hex, t.code = 4, 0
		return true
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case '"', '\\', '/':
	default:
		return false
	}
	t.flush()
	t.append([]byte{c})
	return true
}

// unit takes a UTF-16 code unit.
func (t *text) unit(u rune) {
	switch {
	case u >= 0xD800 && u < 0xDC00:
		t.flush()
		t.high = u
	case u >= 0xDC00 && u < 0xE000 && t.high != 0:
		t.appendRune((t.high-0xD800)<<10 + (u - 0xDC00) + 0x10000)
		t.high = 0
	default:
		t.flush()
		t.appendRune(u)
	}
}

func hexDigit(c byte) (d rune, ok bool) {
	switch {
	case c-'0' <= 9:
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}
