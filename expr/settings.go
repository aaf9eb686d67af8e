// SPDX-License-Identifier: Apache-2.0

package expr

// Settings are all parameters of one algorithm with their effective values.
// They are read by name when a definition is compiled, not per request. A name
// that the algorithm does not declare reads as unset.
type Settings struct {
	algorithm *algorithm
	values    []Value // by place
}

// Algorithm returns the canonical name of the algorithm.
func (s *Settings) Algorithm() string { return s.algorithm.name }

// Value returns the value of a parameter. Those who compile definitions call it
// some twenty times in a row, which inlined would take 10 KB of module.
//
//go:noinline
func (s *Settings) Value(name string) Value {
	for i := range s.algorithm.params {
		if s.algorithm.params[i].Name == name {
			return s.values[i]
		}
	}
	return Value{}
}

// Uint returns the value of a Uint or the index of an Enum's member.
func (s *Settings) Uint(name string) uint64 { return s.Value(name).Uint() }

// Number returns the value of a Number.
func (s *Settings) Number(name string) float64 { return s.Value(name).Number() }

// Bool returns the value of a Bool.
func (s *Settings) Bool(name string) bool { return s.Value(name).Bool() }

// Text returns the value of a String.
func (s *Settings) Text(name string) string { return s.Value(name).Text() }

// Demands returns what the settings want each request to carry.
func (s *Settings) Demands() (d Demand) {
	for i := range s.values {
		if p := &s.algorithm.params[i]; p.Demands != 0 && s.values[i].Bool() {
			d |= p.Demands
		}
	}
	return d
}

// Each calls visit with each parameter that can have an effect in this
// algorithm, in byte order of the names.
func (s *Settings) Each(visit func(p *Parameter, v Value)) {
	for i := range s.values {
		if p := &s.algorithm.params[i]; p.Inert.when != always {
			visit(p, s.values[i])
		}
	}
}

// All calls visit with each parameter, in byte order of the names.
func (s *Settings) All(visit func(p *Parameter, v Value)) {
	for i := range s.values {
		visit(&s.algorithm.params[i], s.values[i])
	}
}

// inert reports whether the parameter at place i has no effect.
func (s *Settings) inert(i int) bool {
	rule := s.algorithm.params[i].Inert
	other := s.algorithm.inert[i]
	switch rule.when {
	case always:
		return true
	case whileEqual:
		return s.values[other].Uint() == rule.value
	case whileUnset:
		return !s.values[other].set
	}
	return false
}

// misordered returns the places of the first pair of bounds in wrong order.
func (s *Settings) misordered() (floor, ceil int, found bool) {
	for floor, ceil := range s.algorithm.atMost {
		if ceil < 0 || !s.values[floor].set || !s.values[ceil].set {
			continue
		}
		if s.values[floor].Uint() > s.values[ceil].Uint() {
			return floor, ceil, true
		}
	}
	return 0, 0, false
}
