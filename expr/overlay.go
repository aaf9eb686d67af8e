// SPDX-License-Identifier: Apache-2.0

package expr

import "math/bits"

// overlay lays an expression over a base and judges the result. It is a place
// to work in that is used for one expression after the other.
type overlay struct {
	expression Expression
	base       *Static
	settings   Settings // the effective ones; its values are overwritten by the next apply
	given      set      // ids of the parameters that the expression sets
	canonical  []byte
}

// apply does all checks in their fixed order: each parameter in the order of
// the header, then the settings as a whole.
func (o *overlay) apply(base *Static, allowed set) *Rejection {
	o.base, o.given = base, 0
	o.settings.algorithm = base.settings.algorithm
	o.settings.values = append(o.settings.values[:0], base.settings.values...)
	for i := range o.expression.params[:o.expression.count] {
		if r := o.parameter(&o.expression.params[i], allowed); r != nil {
			return r
		}
	}
	if r := o.ordered(); r != nil {
		return r
	}
	if r := o.tightened(); r != nil {
		return r
	}
	return o.effective()
}

// parameter judges one parameter and sets its value.
func (o *overlay) parameter(w *wire, allowed set) *Rejection {
	a, c := o.base.settings.algorithm, o.base.catalog
	key := w.key.of(o.expression.src)
	id, known := c.ids[key]
	if !known {
		return o.reject(UnknownParameter, 0, key, nil)
	}
	place, p := a.parameter(id)
	if p == nil {
		return o.reject(UnsupportedParameter, 0, key, nil)
	}
	if !allowed.has(id) {
		return o.reject(ParameterNotAllowed, NotListed, key, p)
	}
	v, reason := p.convert(w.kind, o.expression.text(w))
	if reason != 0 {
		return o.reject(InvalidValue, reason, key, p)
	}
	o.settings.values[place] = v
	o.given.add(id)
	return nil
}

// ordered judges pairs of bounds. It blames the lower bound if the expression
// sets it, else the upper one.
func (o *overlay) ordered() *Rejection {
	floor, ceil, found := o.settings.misordered()
	if !found {
		return nil
	}
	a := o.settings.algorithm
	blamed, partner := &a.params[floor], &a.params[ceil]
	if !o.given.has(a.ids[floor]) {
		blamed, partner = partner, blamed
	}
	r := o.reject(InvalidValue, FloorAboveCeil, blamed.Name, blamed)
	r.partner = partner.Name
	return r
}

// tightened judges that no policy of the operator is loosened.
func (o *overlay) tightened() *Rejection {
	for rest := o.given; rest != 0; rest &= rest - 1 {
		place, p := o.settings.algorithm.parameter(bits.TrailingZeros64(uint64(rest)))
		was, is := o.base.settings.values[place], o.settings.values[place]
		loosened := p.Tighten == OnlyOn && was.Bool() && !is.Bool() ||
			p.Tighten == OnlyLower && was.set && is.Number() > was.Number()
		if loosened {
			return o.reject(ParameterNotAllowed, LoosensPolicy, p.Name, p)
		}
	}
	return nil
}

// effective judges that each given parameter has an effect.
func (o *overlay) effective() *Rejection {
	for rest := o.given; rest != 0; rest &= rest - 1 {
		place, p := o.settings.algorithm.parameter(bits.TrailingZeros64(uint64(rest)))
		if o.settings.inert(place) {
			return o.reject(InertParameter, 0, p.Name, p)
		}
	}
	return nil
}

func (o *overlay) reject(c Code, r Reason, key string, p *Parameter) *Rejection {
	return &Rejection{
		Code: c, Reason: r, Method: o.base.settings.algorithm.name,
		Parameter: key, Offset: -1, schema: p,
	}
}

// form returns the canonical form of the expression that was applied: equal
// forms mean equal algorithms and equal given values. It is valid until the
// next call.
func (o *overlay) form() []byte {
	dst := append(o.canonical[:0], o.settings.algorithm.name...)
	for rest := o.given; rest != 0; rest &= rest - 1 {
		place, p := o.settings.algorithm.parameter(bits.TrailingZeros64(uint64(rest)))
		dst = append(append(append(dst, ';'), p.Name...), '=')
		dst = p.appendCanonical(dst, o.settings.values[place])
	}
	o.canonical = dst
	return dst
}
