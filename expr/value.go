// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"math"
	"strconv"
)

// Value is the typed value of a parameter. The zero Value is unset; two Values
// of one parameter are equal if == says so.
type Value struct {
	text string // String
	bits uint64 // Uint, Bool, Enum's index; Number's IEEE 754 bits
	set  bool
}

// UintValue returns the value v.
func UintValue(v uint64) Value { return Value{bits: v, set: true} }

// NumberValue returns the value v.
func NumberValue(v float64) Value { return Value{bits: math.Float64bits(v), set: true} }

// BoolValue returns the value v.
func BoolValue(v bool) Value {
	if v {
		return UintValue(1)
	}
	return UintValue(0)
}

// MemberValue returns the i-th member of an Enum.
func MemberValue(i int) Value { return UintValue(uint64(i)) }

// StringValue returns the value v.
func StringValue(v string) Value { return Value{text: v, set: true} }

// IsSet reports whether v is a value at all.
func (v Value) IsSet() bool { return v.set }

// Uint returns a Uint's value or an Enum's index.
func (v Value) Uint() uint64 { return v.bits }

// Number returns a Number's value.
func (v Value) Number() float64 { return math.Float64frombits(v.bits) }

// Bool returns a Bool's value.
func (v Value) Bool() bool { return v.bits != 0 }

// Text returns a String's value.
func (v Value) Text() string { return v.text }

// convert makes a value of p from what an expression says. Quotes don't change
// the meaning, except that they let a Uint have up to 20 digits.
func (p *Parameter) convert(kind Kind, text string) (Value, Reason) {
	number := kind == Integer || kind == Decimal
	switch {
	case p.Type == Uint:
		return p.convertUint(kind, text)
	case p.Type == Number:
		return p.convertNumber(kind, text)
	case number:
		return Value{}, WrongType
	case p.Type == String && float64(len(text)) > p.Static.Max:
		return Value{}, OutOfRange
	case p.Type == String:
		return StringValue(text), 0
	case p.Type == Enum:
		return p.member(text)
	case text == "true":
		return BoolValue(true), 0
	case text == "false":
		return BoolValue(false), 0
	}
	return Value{}, WrongType
}

func (p *Parameter) convertUint(kind Kind, text string) (Value, Reason) {
	negative := kind == Integer && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if kind != Integer && kind != Quoted || !isUint(text) {
		return Value{}, WrongType
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil || negative && v != 0 || !p.Request.has(float64(v)) {
		return Value{}, OutOfRange
	}
	return UintValue(v), 0
}

// isUint reports whether s is 1 to 20 digits.
func isUint(s string) bool {
	return len(s) >= 1 && len(s) <= 20 && digits(s) == len(s)
}

func (p *Parameter) convertNumber(kind Kind, text string) (Value, Reason) {
	if _, ok := isNumber(text); kind == Token || !ok {
		return Value{}, WrongType
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !p.Request.has(v) {
		return Value{}, OutOfRange
	}
	return NumberValue(v + 0), 0 // −0 + 0 is 0
}

// member returns the index of an Enum's member.
func (p *Parameter) member(name string) (Value, Reason) {
	for i, m := range p.Members {
		if m == name {
			return MemberValue(i), 0
		}
	}
	return Value{}, NotInSet
}

// appendCanonical appends the one spelling that v has in expressions.
func (p *Parameter) appendCanonical(dst []byte, v Value) []byte {
	switch p.Type {
	case Uint:
		return appendCanonicalUint(dst, v.Uint())
	case Number:
		// At most 15 significant digits came in, so the shortest decimal
		// that gives this float64 is the one that came in.
		return strconv.AppendFloat(dst, v.Number(), 'f', -1, 64)
	case Bool:
		return strconv.AppendBool(dst, v.Bool())
	case Enum:
		return append(dst, p.Members[v.Uint()]...)
	}
	return appendCanonicalText(dst, v.Text())
}

// Spell returns the one spelling that v has in expressions.
func (p *Parameter) Spell(v Value) string { return string(p.appendCanonical(nil, v)) }

// appendCanonicalUint quotes what has more digits than an integer may have.
func appendCanonicalUint(dst []byte, v uint64) []byte {
	const longest = 999_999_999_999_999
	if v <= longest {
		return appendUint(dst, v)
	}
	return append(appendUint(append(dst, '"'), v), '"')
}

func appendCanonicalText(dst []byte, s string) []byte {
	if isToken(s) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

func appendUint(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }
