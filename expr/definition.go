// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"

	"github.com/kvsteer/kvsteer/expr/document"
)

// definition reads an algorithm's name or an object with its parameters. other
// takes fields that are none, and reports whether it knows them. The result is
// nil where the algorithm isn't known.
func (d *documentReader) definition(n document.Node, base string, other func(key string, field document.Node) bool) *Static {
	switch n.Kind {
	case document.String:
		return d.named(n, base)
	case document.Object:
	default:
		d.fault(n.Pointer, FaultWrongType, "must be an algorithm's name or an object")
		return nil
	}
	var s *Static
	if name := n.Member(fieldAlgorithm); name.Kind != document.None {
		s = d.named(name, base)
	} else {
		d.fault(n.Under(fieldAlgorithm), FaultMissing, "names the algorithm")
	}
	d.object(n, func(key string, field document.Node) {
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
func (d *documentReader) named(n document.Node, base string) *Static {
	name, ok := n.Text()
	if !ok {
		d.fault(n.Pointer, FaultWrongType, "must be an algorithm's name")
		return nil
	}
	a := d.catalog.algorithm(name)
	if a == nil {
		d.unknownAlgorithm(n.Pointer)
		return nil
	}
	return d.preset(a, base)
}

// field reads one parameter into s, which is nil where the algorithm isn't
// known; then only the name can be judged.
func (d *documentReader) field(s *Static, key string, n document.Node) {
	id, known := d.catalog.ids[key]
	if !known {
		d.fault(n.Pointer, FaultUnknownField, "no algorithm takes such a parameter")
		return
	}
	if s == nil {
		return
	}
	place, p := s.settings.algorithm.parameter(id)
	if p == nil {
		d.fault(n.Pointer, FaultUnsupportedField, s.settings.algorithm.name+" does not take it")
		return
	}
	v, reason := p.decode(n)
	if reason != "" {
		d.fault(n.Pointer, reason, p.expected())
		return
	}
	s.settings.values[place] = v
}

// judge looks at a definition as a whole.
func (d *documentReader) judge(s *Static, n document.Node) {
	params := s.settings.algorithm.params
	if floor, ceil, found := s.settings.misordered(); found {
		d.fault(n.Under(params[floor].Name), FaultFloorAboveCeil, "must be at most "+params[ceil].Name)
	}
	for i := range params {
		p := &params[i]
		if n.Member(p.Name).Kind != document.None && s.settings.inert(i) {
			why := p.Inert.appendMessage([]byte("has no effect "), s.settings.algorithm.name)
			d.config.warnings = append(d.config.warnings, Fault{n.Under(p.Name), FaultInert, string(why)})
		}
	}
}

// decode makes a value of p from JSON. Integers are never read as floats.
func (p *Parameter) decode(n document.Node) (v Value, reason string) {
	text, isText := n.Text()
	isNumber := n.Kind == document.Number
	switch {
	case p.Type == Uint && isNumber:
		return p.decodeUint(n.Literal())
	case p.Type == Number && isNumber:
		f, err := strconv.ParseFloat(n.Literal(), 64)
		if err != nil || !p.Static.has(f) {
			return Value{}, FaultOutOfRange
		}
		return NumberValue(f), ""
	case p.Type == Bool && n.Kind == document.Bool:
		return BoolValue(n.Literal() == "true"), ""
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
