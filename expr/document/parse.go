// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// The errors of Parse. Where a text is wrong is in the error's message.
var (
	ErrSyntax  = errors.New("document: not valid JSON")
	ErrTooDeep = errors.New("document: nested deeper than " + strconv.Itoa(MaxDepth))
)

// syntaxError is ErrSyntax with the place.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string {
	return "document: " + e.what + " at byte " + strconv.Itoa(e.at)
}

func (e *syntaxError) Unwrap() error { return ErrSyntax }

// Parse reads a whole document, in UTF-8 and as RFC 8259 has it. pointer is
// where it stands in a larger one.
func Parse(text []byte, pointer string) (Node, error) {
	p := parser{text: string(text)}
	if !utf8.ValidString(p.text) {
		p.wrong("a text that is not UTF-8")
		return Node{}, p.err
	}
	n := p.value(pointer, 0)
	if p.space(); p.err == nil && p.at < len(p.text) {
		p.wrong("something behind the end")
	}
	if p.err != nil {
		return Node{}, p.err
	}
	return n, nil
}

// parser reads one document from left to right. After the first fault, which it
// keeps, it reads nothing more.
type parser struct {
	text string
	at   int
	err  error
}

// wrong notes a fault at this place and ends the reading.
func (p *parser) wrong(what string) {
	if p.err == nil {
		p.err = &syntaxError{p.at, what}
	}
	p.at = len(p.text)
}

func (p *parser) space() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\n' || p.text[p.at] == '\t' || p.text[p.at] == '\r') {
		p.at++
	}
}

// take reads c if it is next, behind space.
func (p *parser) take(c byte) bool {
	p.space()
	if p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) value(pointer string, depth int) Node {
	n := Node{Pointer: pointer}
	p.space()
	if p.at == len(p.text) {
		p.wrong("a value is missing")
		return n
	}
	switch c := p.text[p.at]; {
	case c == '{' || c == '[':
		p.container(&n, c == '{', depth)
	case c == '"':
		n.Kind, n.text = String, p.str()
	case c == '-' || isDigit(c):
		n.Kind, n.text = Number, p.number()
	default:
		p.word(&n)
	}
	return n
}

// container reads an object or an array.
func (p *parser) container(n *Node, object bool, depth int) {
	if depth == MaxDepth {
		p.at, p.err = len(p.text), ErrTooDeep
		return
	}
	n.Kind = Array
	end := byte(']')
	if object {
		n.Kind, end = Object, '}'
	}
	p.at++
	if p.take(end) {
		return
	}
	for {
		key := ""
		if object {
			key = p.key()
			n.keys = append(n.keys, key)
		} else {
			key = strconv.Itoa(len(n.children))
		}
		n.children = append(n.children, p.value(n.Under(key), depth+1))
		if p.err != nil || p.take(end) {
			return
		}
		if !p.take(',') {
			p.wrong("no comma and no end")
			return
		}
	}
}

func (p *parser) key() string {
	p.space()
	if p.at == len(p.text) || p.text[p.at] != '"' {
		p.wrong("a key is missing")
		return ""
	}
	key := p.str()
	if !p.take(':') {
		p.wrong("a colon is missing")
	}
	return key
}

// word reads true, false or null.
func (p *parser) word(n *Node) {
	for _, w := range [...]struct {
		text string
		kind Kind
	}{{"true", Bool}, {"false", Bool}, {"null", Null}} {
		if end := p.at + len(w.text); end <= len(p.text) && p.text[p.at:end] == w.text {
			n.Kind, n.text, p.at = w.kind, w.text, end
			return
		}
	}
	p.wrong("no value begins like this")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digits reads a run of digits and returns its length.
func (p *parser) digits() int {
	from := p.at
	for p.at < len(p.text) && isDigit(p.text[p.at]) {
		p.at++
	}
	return p.at - from
}

// next reads one byte if it is one of these.
func (p *parser) next(a, b byte) bool {
	if p.at == len(p.text) || p.text[p.at] != a && p.text[p.at] != b {
		return false
	}
	p.at++
	return true
}

// number reads a number and returns it as it is written.
func (p *parser) number() string {
	from := p.at
	p.next('-', '-')
	if !p.next('0', '0') && p.digits() == 0 {
		p.wrong("a digit is missing")
	}
	if p.next('.', '.') && p.digits() == 0 {
		p.wrong("a digit is missing behind the point")
	}
	if p.next('e', 'E') {
		p.next('+', '-')
		if p.digits() == 0 {
			p.wrong("a digit is missing in the exponent")
		}
	}
	return p.text[from:p.at]
}

// str reads a string and returns its characters.
func (p *parser) str() string {
	p.at++
	from := p.at
	var decoded []byte // nil until there is an escape
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			piece := p.text[from:p.at]
			p.at++
			if decoded == nil {
				return piece
			}
			return string(append(decoded, piece...))
		case c < ' ':
			p.wrong("a control character")
		case c == '\\':
			decoded = append(decoded, p.text[from:p.at]...)
			decoded = p.escape(decoded)
			from = p.at
		default:
			p.at++
		}
	}
	p.wrong("a string does not end")
	return ""
}

// escape reads one escape and appends what it stands for.
func (p *parser) escape(dst []byte) []byte {
	const plain, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if p.at+1 < len(p.text) {
		for i := range len(plain) {
			if p.text[p.at+1] == plain[i] {
				p.at += 2
				return append(dst, means[i])
			}
		}
	}
	r := p.unit()
	if r >= 0xD800 && r < 0xDC00 {
		if low := p.unit(); low >= 0xDC00 && low < 0xE000 {
			return utf8.AppendRune(dst, (r-0xD800)<<10+(low-0xDC00)+0x10000)
		}
		r = -1
	}
	if r < 0 || r >= 0xDC00 && r < 0xE000 {
		p.wrong("an escape that means nothing")
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// unit reads \uXXXX, -1 for anything else.
func (p *parser) unit() rune {
	const length = len(`\uXXXX`)
	if p.at+length > len(p.text) || p.text[p.at:p.at+2] != `\u` {
		return -1
	}
	v, err := strconv.ParseUint(p.text[p.at+2:p.at+length], 16, 16)
	if err != nil {
		return -1
	}
	p.at += length
	return rune(v)
}
