// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
)

// definition reads an algorithm's name or an object with its parameters. other
// takes fields that are none, and reports whether it knows them. The result is
// nil where the algorithm isn't known.
func (d *documentReader) definition(n node, base string, other func(key string, field node) bool) *Static {
	switch n.Type() {
	case fastjson.TypeString:
		return d.named(n, base)
	case fastjson.TypeObject:
	default:
		d.fault(n.at, FaultWrongType, "must be an algorithm's name or an object")
		return nil
	}
	var s *Static
	if name := n.Get(fieldAlgorithm); name != nil {
		s = d.named(node{name, n.under(fieldAlgorithm)}, base)
	} else {
		d.fault(n.under(fieldAlgorithm), FaultMissing, "names the algorithm")
	}
	d.object(n, func(key string, field node) {
		if key == fieldAlgorithm || other != nil && other(key, field) {
			return
		}
		d.field(s, key, field)
	})
	if s != nil {
		d.judge(s, n)
	}
	return s
}

// named reads the name of an algorithm.
func (d *documentReader) named(n node, base string) *Static {
	name, ok := n.text()
	if !ok {
		d.fault(n.at, FaultWrongType, "must be an algorithm's name")
		return nil
	}
	m := d.catalog.method(name)
	if m == nil {
		d.unknownAlgorithm(n.at)
		return nil
	}
	return d.preset(m, base)
}

// field reads one parameter into s, which is nil where the algorithm isn't
// known; then only the name can be judged.
func (d *documentReader) field(s *Static, key string, n node) {
	id, known := d.catalog.ids[key]
	if !known {
		d.fault(n.at, FaultUnknownField, "no algorithm takes such a parameter")
		return
	}
	if s == nil {
		return
	}
	place, p := s.settings.method.parameter(id)
	if p == nil {
		d.fault(n.at, FaultUnsupportedField, s.settings.method.name+" does not take it")
		return
	}
	v, reason := p.decode(n)
	if reason != "" {
		d.fault(n.at, reason, p.expected())
		return
	}
	s.settings.values[place] = v
}

// judge looks at a definition as a whole.
func (d *documentReader) judge(s *Static, n node) {
	params := s.settings.method.params
	if floor, ceil, found := s.settings.misordered(); found {
		d.fault(n.under(params[floor].Name), FaultFloorAboveCeil, "must be at most "+params[ceil].Name)
	}
	for i := range params {
		p := &params[i]
		if n.Exists(p.Name) && s.settings.inert(i) {
			why := p.Inert.appendMessage([]byte("has no effect "), s.settings.method.name)
			d.config.warnings = append(d.config.warnings, Fault{n.under(p.Name), FaultInert, string(why)})
		}
	}
}

// decode makes a value of p from JSON. Integers are never read as floats.
func (p *Parameter) decode(n node) (v Value, reason string) {
	text, isText := n.text()
	isNumber := n.Type() == fastjson.TypeNumber
	switch {
	case p.Type == Uint && isNumber:
		return p.decodeUint(n.literal())
	case p.Type == Number && isNumber:
		f, err := strconv.ParseFloat(n.literal(), 64)
		if err != nil || !p.Static.has(f) {
			return Value{}, FaultOutOfRange
		}
		return NumberValue(f), ""
	case p.Type == Bool && n.Type() == fastjson.TypeTrue:
		return BoolValue(true), ""
	case p.Type == Bool && n.Type() == fastjson.TypeFalse:
		return BoolValue(false), ""
	case p.Type == Enum && isText:
		if v, unknown := p.member(text); unknown == 0 {
			return v, ""
		}
		return Value{}, FaultNotInSet
	case p.Type == String && isText:
		if float64(len(text)) > p.Static.Max {
			return Value{}, FaultOutOfRange
		}
		return StringValue(text), ""
	}
	return Value{}, FaultWrongType
}

func (p *Parameter) decodeUint(literal string) (Value, string) {
	unsigned := strings.TrimPrefix(literal, "-")
	if digits(unsigned) != len(unsigned) {
		return Value{}, FaultWrongType
	}
	v, err := strconv.ParseUint(unsigned, 10, 64)
	if err != nil || v != 0 && unsigned != literal || !p.Static.has(float64(v)) {
		return Value{}, FaultOutOfRange
	}
	if v == 0 {
		v = p.StaticZero
	}
	return UintValue(v), ""
}

// expected says what the configuration may hold.
func (p *Parameter) expected() string {
	switch p.Type {
	case Uint:
		return string(appendRange([]byte("must be an integer, "), p.Static))
	case Number:
		return string(appendRange([]byte("must be a number, "), p.Static))
	case Bool:
		return "must be true or false"
	case Enum:
		return "must be one of " + strings.Join(p.Members, " ")
	}
	return "must be a text of at most " + strconv.FormatFloat(p.Static.Max, 'f', -1, 64) + " bytes"
}
