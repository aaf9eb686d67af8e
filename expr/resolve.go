// SPDX-License-Identifier: Apache-2.0

package expr

import "strconv"

// Resolution is what an expression comes to under a configuration.
type Resolution struct {
	Canonical string // "" without an expression
	Base      string // as Static.Base
	Dynamic   bool   // the expression has parameters
	Settings  Settings
}

// Resolve reads the lines of x-routing-method that came with a request to this
// model, and says what they come to. It keeps nothing; requests go through a
// Router, which gives the same answers.
func (c *Config) Resolve(model string, lines ...string) (*Resolution, *Rejection) {
	base := c.entry(model).own
	if len(lines) == 0 {
		return &Resolution{Base: base.base, Settings: base.settings}, nil
	}
	if len(lines) > 1 {
		return nil, multipleLines()
	}
	var o overlay
	if r := o.resolve(c, model, lines[0]); r != nil {
		return nil, r
	}
	return &Resolution{
		Canonical: string(o.form()), Base: o.base.base,
		Dynamic: o.given != 0, Settings: o.settings,
	}, nil
}

func multipleLines() *Rejection {
	return &Rejection{Code: MalformedExpression, Reason: MultipleLines, Offset: -1}
}

// resolve does all checks of an expression in their fixed order.
func (o *overlay) resolve(c *Config, model, value string) *Rejection {
	if r := o.expression.Parse(value); r != nil {
		return r
	}
	a := c.catalog.algorithm(o.expression.method)
	if a == nil {
		return &Rejection{Code: UnknownMethod, Method: o.expression.method, Offset: -1}
	}
	e := c.entry(model)
	base := e.bases[a.index]
	if base == nil {
		return &Rejection{Code: MethodNotAllowed, Method: a.name, Offset: -1}
	}
	return o.apply(base, e.allowed)
}

// exactInteger is the largest integer that all JSON readers hold exactly.
const exactInteger = 1<<53 - 1

// AppendJSON appends the settings that can have an effect as a JSON object.
// What is unset is null; integers above 2^53-1 are strings.
func (s *Settings) AppendJSON(dst []byte) []byte {
	before := byte('{')
	s.Each(func(p *Parameter, v Value) {
		dst = append(append(append(dst, before, '"'), p.Name...), `":`...)
		dst = p.appendJSON(dst, v)
		before = ','
	})
	if before == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

func (p *Parameter) appendJSON(dst []byte, v Value) []byte {
	switch {
	case !v.set:
		return append(dst, "null"...)
	case p.Type == Uint && v.Uint() > exactInteger:
		return append(appendUint(append(dst, '"'), v.Uint()), '"')
	case p.Type == Uint:
		return appendUint(dst, v.Uint())
	case p.Type == Number:
		return strconv.AppendFloat(dst, v.Number(), 'g', -1, 64)
	case p.Type == Bool:
		return strconv.AppendBool(dst, v.Bool())
	case p.Type == Enum:
		return append(append(append(dst, '"'), p.Members[v.Uint()]...), '"')
	}
	return append(appendEscaped(append(dst, '"'), v.Text()), '"')
}
