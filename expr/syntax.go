// SPDX-License-Identifier: Apache-2.0

package expr

import "strings"

// MaxBytes bounds a header value before its outer spaces are cut, so that all
// work before the cache is bounded too.
const MaxBytes = 1024

// maxParameters is how many different parameters fit into MaxBytes: a method of
// one byte, the 27 keys of one byte with four bytes each (";k=v"), and keys of
// two bytes with five bytes each. Hence the array below cannot overflow.
const maxParameters = 27 + (MaxBytes-1-27*4)/5

// Kind is the wire type of a parameter's value.
type Kind uint8

// The four wire types that the profile has.
const (
	Integer Kind = iota + 1
	Decimal
	Token
	Quoted
)

// Expression is a header value taken apart. The zero value is ready for Parse,
// and a value may be parsed into again and again without allocation.
type Expression struct {
	src    string
	method string
	count  int
	params [maxParameters]wire
	tags   [maxParameters]uint64 // of params: tag of the key
}

// wire is one parameter as it was written; its spans point into src.
type wire struct {
	key, text span
	kind      Kind
	escaped   bool // text holds backslashes that stand for the next byte
}

// span is a half-open range of bytes; MaxBytes keeps it within 16 bits.
type span struct{ from, to uint16 }

func (s span) of(src string) string { return src[s.from:s.to] }

// Method returns the token as it was written.
func (e *Expression) Method() string { return e.method }

// Len returns how many parameters the expression has.
func (e *Expression) Len() int { return e.count }

// Parameter returns the key, the wire type and the text of parameter i, in the
// order of the header. A quoted text comes without its quotes, escapes undone
// (which allocates only where there are some).
func (e *Expression) Parameter(i int) (key string, kind Kind, text string) {
	w := &e.params[i]
	return w.key.of(e.src), w.kind, e.text(w)
}

func (e *Expression) text(w *wire) string {
	raw := w.text.of(e.src)
	if !w.escaped {
		return raw
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' {
			i++
		}
		b = append(b, raw[i])
	}
	return string(b)
}

// Parse reads src and keeps it. It reports the first fault only, in an order
// that is fixed: length, bytes, commas, then from left to right. It looks at
// each byte once, except that each key is compared with the keys before it
// (at most 210 of them).
func (e *Expression) Parse(src string) *Rejection {
	e.src, e.method, e.count = src, "", 0
	if len(src) > MaxBytes {
		return &Rejection{Code: ExpressionTooLong, Offset: -1}
	}
	p := parser{src: src, end: len(src), e: e}
	if r := p.bytes(); r != nil {
		return r
	}
	if r := p.method(); r != nil {
		return r
	}
	for p.pos < p.end {
		if r := p.parameter(); r != nil {
			return r
		}
	}
	return nil
}

// parser reads src[pos:end]; each method below is one production.
type parser struct {
	src string
	pos int
	end int // the outer spaces behind it don't count
	e   *Expression
}

// peek returns the next byte, 0 at the end (no legal byte is 0).
func (p *parser) peek() byte {
	if p.pos < p.end {
		return p.src[p.pos]
	}
	return 0
}

// run skips all bytes of class c.
func (p *parser) run(c class) {
	for p.pos < p.end && c.is(p.src[p.pos]) {
		p.pos++
	}
}

func (p *parser) fail(r Reason, key string) *Rejection {
	return &Rejection{Code: MalformedExpression, Reason: r, Parameter: key, Offset: p.pos}
}

// bytes judges the whole value before its structure and cuts the outer spaces.
func (p *parser) bytes() *Rejection {
	firstComma := -1
	for i := 0; i < len(p.src); i++ {
		switch c := classes[p.src[i]]; {
		case c&foreign != 0:
			p.pos = i
			return p.fail(Charset, "")
		case c&comma != 0 && firstComma < 0:
			firstComma = i
		}
	}
	if firstComma >= 0 {
		p.pos = firstComma
		return p.fail(Comma, "")
	}
	p.end = len(strings.TrimRight(p.src, " "))
	p.spaces()
	return nil
}

// spaces: *SP
func (p *parser) spaces() {
	for p.pos < p.end && p.src[p.pos] == ' ' {
		p.pos++
	}
}

// method: token
func (p *parser) method() *Rejection {
	if p.pos == p.end {
		return p.fail(Empty, "")
	}
	if !tokenStart.is(p.peek()) {
		return p.fail(MethodNotToken, "")
	}
	start := p.pos
	p.run(tokenRest)
	p.e.method = p.src[start:p.pos]
	return nil
}

// parameter: ";" *SP key "=" value
func (p *parser) parameter() *Rejection {
	if p.peek() != ';' {
		return p.fail(TrailingData, "")
	}
	p.pos++
	p.spaces()
	w := &p.e.params[p.e.count]
	*w = wire{}
	if r := p.key(w); r != nil {
		return r
	}
	key := w.key.of(p.src)
	if p.peek() != '=' {
		return p.fail(NativeBoolean, key)
	}
	p.pos++
	if r := p.value(w, key); r != nil {
		return r
	}
	p.e.count++
	return nil
}

// key: ( lower / "*" ) *( lower / DIGIT / "_" / "-" / "." / "*" ), each once.
func (p *parser) key(w *wire) *Rejection {
	if !keyStart.is(p.peek()) {
		return p.fail(BadKey, "")
	}
	start := p.pos
	p.run(keyRest)
	w.key = p.since(start)
	key := w.key.of(p.src)
	mine := tag(key)
	p.e.tags[p.e.count] = mine
	for i, other := range p.e.tags[:p.e.count] {
		if other == mine && p.e.params[i].key.of(p.src) == key {
			p.pos = start
			return p.fail(DuplicateKey, key)
		}
	}
	return nil
}

// tag packs the start of a key, so that most keys are told apart by one
// comparison: with 210 keys there are 22,000 of them.
func tag(key string) uint64 {
	t := uint64(len(key))
	for i := range min(len(key), 7) {
		t = t<<8 | uint64(key[i])
	}
	return t
}

// value: integer / decimal / token / string
func (p *parser) value(w *wire, key string) *Rejection {
	switch b := p.peek(); {
	case b == '"':
		return p.quoted(w, key)
	case b == '-' || digit.is(b):
		return p.number(w, key)
	case tokenStart.is(b):
		start := p.pos
		p.run(tokenRest)
		w.kind, w.text = Token, p.since(start)
		return nil
	case b == '?' && p.boolean():
		return p.fail(NativeBoolean, key)
	case b == ':' || b == '@' || b == '%' || b == '(':
		return p.fail(ValueType, key)
	}
	return p.fail(ValueSyntax, key)
}

// boolean reports whether a structured-field Boolean stands here.
func (p *parser) boolean() bool {
	return p.pos+1 < p.end && (p.src[p.pos+1] == '0' || p.src[p.pos+1] == '1')
}

// number: the longest run of its bytes must be a whole integer or decimal.
func (p *parser) number(w *wire, key string) *Rejection {
	start := p.pos
	if p.peek() == '-' {
		p.pos++
	}
	p.run(digit)
	if p.peek() == '.' {
		p.pos++
		p.run(digit)
	}
	w.kind, w.text = Integer, p.since(start)
	decimal, ok := isNumber(w.text.of(p.src))
	if !ok {
		p.pos = start
		return p.fail(NumberSyntax, key)
	}
	if decimal {
		w.kind = Decimal
	}
	return nil
}

// quoted: DQUOTE *( byte / "\" DQUOTE / "\\" ) DQUOTE, without ";".
func (p *parser) quoted(w *wire, key string) *Rejection {
	p.pos++
	for start := p.pos; p.pos < p.end; p.pos++ {
		switch p.src[p.pos] {
		case '"':
			w.kind, w.text = Quoted, p.since(start)
			p.pos++
			return nil
		case ';':
			return p.fail(StringContent, key)
		case '\\':
			p.pos++
			if b := p.peek(); b != '"' && b != '\\' {
				return p.fail(StringSyntax, key)
			}
			w.escaped = true
		}
	}
	return p.fail(StringSyntax, key)
}

// since returns the span from start to the position.
func (p *parser) since(start int) span { return span{uint16(start), uint16(p.pos)} }
