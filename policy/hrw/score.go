// SPDX-License-Identifier: Apache-2.0

package hrw

import "math"

// unit maps a mix into (0, 1), both ends excluded, without rounding. 48 of the
// 64 bits are used so that neighbouring values of u are at least 16 units in
// the last place of ln(u) apart, more than ln's error: for equal weights the
// order of scores is then never against the order of mixes, which lets [First]
// compare mixes instead of logarithms.
func unit(m uint64) float64 {
	return float64((float64(int64(m>>16)) + 0.5) * (1.0 / (1 << 48)))
}

// score returns -weight/ln(u). The weight must be above 0.
func score(m uint64, weight float64) float64 {
	return weight / -ln(unit(m))
}

// hopeless reports that the score of a mix and a weight is certainly below the
// one of which reach is given, without a logarithm: as -ln(u) >= 1-u, it is at
// most weight/(1-u). 1-u is exactly the unit of the mix's complement.
func hopeless(m uint64, weight, reach float64) bool {
	return (float64(int64(^m>>16))+0.5)*reach > weight
}

// reach prepares a score for hopeless: in units of 2⁻⁴⁸, and less by a factor
// that leaves room for its rounding and that of the comparison, some 2⁻⁵⁰.
func reach(score float64) float64 {
	const room = 1 - 1.0/(1<<40)
	return score * (room / (1 << 48))
}

// ln returns the natural logarithm of u for 2⁻⁵⁰ <= u < 1, off by at most 4
// units in the last place.
//
// With u = m·2ᵉ, √½ <= m < √2, and s = (m-1)/(m+1):
// ln(u) = e·ln 2 + 2s·(1 + s²/3 + s⁴/5 + ...). As s² < 0.0295, the terms after
// s²⁰/21 are below 2⁻⁵⁴ of the sum.
func ln(u float64) float64 {
	const mantissa = 1<<52 - 1
	b := math.Float64bits(u)
	e := int64(b>>52) - 1023
	m := math.Float64frombits(b&mantissa | 1023<<52)
	if m >= math.Sqrt2 {
		m *= 0.5
		e++
	}
	s := (m - 1) / (m + 1)
	z := s * s
	p := 1.0 / 21
	p = 1.0/19 + float64(p*z)
	p = 1.0/17 + float64(p*z)
	p = 1.0/15 + float64(p*z)
	p = 1.0/13 + float64(p*z)
	p = 1.0/11 + float64(p*z)
	p = 1.0/9 + float64(p*z)
	p = 1.0/7 + float64(p*z)
	p = 1.0/5 + float64(p*z)
	p = 1.0/3 + float64(p*z)
	s += s
	return float64(float64(e)*math.Ln2) + (s + float64(s*float64(p*z)))
}

// Weight quantises a capacity to the nearest quarter of an octave on a
// logarithmic scale: the result is 2^(k/4) for a whole k.
//
// Workers and gateways that read slightly different capacities of one node
// (another moment, another rounding, a cache that came up a few blocks larger)
// then give it the same weight and so name the same node for a key. A share is
// off by at most 9 % for it. Where a capacity lies just at a border between
// two steps, two readers may be one step (19 %) apart; they then disagree on
// at most 16 % of that node's keys, and on no key of other nodes among
// themselves.
//
// Only ratios between weights matter, so any unit will do if it is the same
// for all nodes. A capacity that isn't known (0, negative or NaN) has the
// weight 1; where some are known, give the unknown ones a typical known one.
func Weight(capacity float64) float64 {
	if !(capacity > 0) {
		return 1
	}
	capacity = min(capacity, 1<<100)
	fraction, exponent := math.Frexp(capacity)
	for _, step := range steps {
		if fraction < step.below {
			return math.Ldexp(step.weight, exponent)
		}
	}
	return math.Ldexp(1, exponent)
}

// steps are the weights in [½, 1) with their upper borders, which lie half a
// step further: 2^(-7/8), 2^(-5/8), 2^(-3/8), 2^(-1/8).
var steps = [...]struct{ below, weight float64 }{
	{0.5452538663326288, 0.5},
	{0.6484197773255048, 0.5946035575013605},
	{0.7711054127039704, 0.7071067811865476},
	{0.9170040432046712, 0.8408964152537145},
}
