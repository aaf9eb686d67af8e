// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"math"
	"strconv"
)

// Algorithm declares a way to pick as data: what it is called and which
// parameters it takes. What it does with them is no business of this package.
type Algorithm struct {
	Name       string   // canonical: lower case, words joined by "-"
	Aliases    []string // further spellings, canonical like Name
	Parameters []Parameter
	Stateful   bool // it needs an instance per target and definition
}

// Type is the type of a parameter's value.
type Type uint8

// The types. What of an expression converts to them: a Uint takes integers and
// quoted digits; a Number takes integers and decimals, quoted or not; a Bool, an
// Enum and a String take tokens and quoted text.
const (
	Uint   Type = iota + 1 // uint64
	Number                 // float64
	Bool
	Enum // one of Parameter.Members
	String
)

// Parameter declares one parameter of an algorithm. Parameters of the same name
// mean the same in all algorithms: Type, Members and Operator must agree.
type Parameter struct {
	Name    string // lower case; first a letter, then letters, digits and "_"
	Type    Type
	Members []string // Enum: the names, the default's index counts from 0
	Default Value    // the zero Value: unset

	Request    Range  // Uint, Number: what an expression may ask for
	Static     Range  // Uint, Number: what the configuration may hold; String: Max bounds its bytes, for expressions too
	StaticZero uint64 // Uint: what a 0 in the configuration stands for, where 0 itself has no meaning

	AtMost   string  // Uint: the parameter that this one may not exceed where both are set
	Inert    Inert   // when the parameter has no effect, so that an expression with it is a mistake
	Operator bool    // not on the allow-list unless the operator puts it there
	Tighten  Tighten // how an expression may change it at all
	Demands  Demand  // Bool: what a request must carry while it is true
}

// Range bounds numbers. Bounds are exact up to 2^53; a Max of maxUint64 or more
// is no bound.
type Range struct {
	Min, Max float64
	Open     bool // Min itself is outside
}

// maxUint64 is 2^64, the float64 nearest to the largest uint64.
const maxUint64 = float64(math.MaxUint64)

// AnyUint admits every uint64.
var AnyUint = Range{Max: maxUint64}

// has reports whether v is within r. NaN never is.
func (r Range) has(v float64) bool {
	return v >= r.Min && v <= r.Max && !(r.Open && v == r.Min)
}

// String returns what r admits, such as "1 to 1024" or "above 0".
func (r Range) String() string { return string(appendRange(nil, r)) }

// within reports whether every number of r is in s too.
func (r Range) within(s Range) bool {
	return s.has(r.Max) && (s.has(r.Min) || r.Open && r.Min == s.Min)
}

// Tighten says in which direction an expression may change a policy of the
// operator.
type Tighten uint8

// The directions.
const (
	Freely    Tighten = iota // it is no policy
	OnlyLower                // Number: set where unset, or lowered
	OnlyOn                   // Bool: switched on
)

// Demand is a set of things that a request must carry.
type Demand uint8

// The things.
const (
	AffinityKey Demand = 1 << iota // an affinity key, from wherever it is derived
	InputTokens                    // the header x-input-tokens
)

// Missing returns the rejection for the first thing in d that have lacks, nil
// if there is none.
func (d Demand) Missing(have Demand) *Rejection {
	switch lacks := d &^ have; {
	case lacks&AffinityKey != 0:
		return &Rejection{Code: MissingHeader, Header: HeaderAffinityKey, Offset: -1}
	case lacks&InputTokens != 0:
		return &Rejection{Code: MissingHeader, Header: HeaderInputTokens, Offset: -1}
	}
	return nil
}

// Inert says when a parameter has no effect. The zero value says never.
type Inert struct {
	when  inertWhen
	other string // the parameter it depends on
	value uint64
}

type inertWhen uint8

const (
	never inertWhen = iota
	always
	whileEqual
	whileUnset
)

// InertAlways is for parameters that configurations hold for other algorithms.
var InertAlways = Inert{when: always}

// InertWhile says: no effect while the Uint parameter other has this value.
func InertWhile(other string, value uint64) Inert {
	return Inert{when: whileEqual, other: other, value: value}
}

// InertWithout says: no effect while the parameter other is unset.
func InertWithout(other string) Inert { return Inert{when: whileUnset, other: other} }

// String returns when it has no effect: "always", "while n is 1" or "without
// seed"; "" for never.
func (i Inert) String() string {
	switch i.when {
	case always:
		return "always"
	case whileEqual:
		return "while " + i.other + " is " + strconv.FormatUint(i.value, 10)
	case whileUnset:
		return "without " + i.other
	}
	return ""
}

// appendMessage completes "NAME has no effect ".
func (i Inert) appendMessage(dst []byte, algorithm string) []byte {
	if i.when == always {
		return append(append(dst, "in "...), algorithm...)
	}
	return append(dst, i.String()...)
}
