// SPDX-License-Identifier: Apache-2.0

// Package decimal reads decimal numbers from bytes without allocating.
//
// It exists because strconv.ParseFloat also takes hexadecimal, underscores, "infinity" and
// "NaN", and allocates an error for everything else: load reports come from the network.
package decimal

import (
	"strconv"
	"unsafe"
)

// maxExact is the largest integer below which every float64 is exact.
const maxExact = 1 << 53

// maxExponent bounds what is given to strconv: beyond it every number is zero or infinite, and
// the bound keeps the exponent's sum from wrapping.
const maxExponent = 400

// powers are the powers of ten that a float64 holds exactly.
var powers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Parse returns the number that b holds; ok is false when b is no decimal number or too large
// for a float64. The form is [+-] digits [. digits] [(e|E) [+-] digits] with at least one digit
// before the exponent. NaN and infinities are no numbers here.
// Cost: O(len(b)), nearest float64, no allocation except for numbers between 1e308 and 1e310.
func Parse(b []byte) (v float64, ok bool) {
	n, ok := scan(b)
	if !ok {
		return 0, false
	}
	if n.exact && n.exponent >= -22 && n.exponent <= 22 {
		v = float64(n.mantissa)
		if n.exponent < 0 {
			v /= powers[-n.exponent]
		} else {
			v *= powers[n.exponent]
		}
		if b[0] == '-' {
			v = -v
		}
		return v, true
	}
	if n.exponent+n.digits > maxExponent {
		return 0, n.mantissa == 0 && n.exact
	}
	v, err := strconv.ParseFloat(unsafe.String(&b[0], len(b)), 64)
	return v, err == nil
}

// number is a decimal taken apart: mantissa × 10^exponent.
type number struct {
	mantissa uint64
	exact    bool // mantissa holds all digits and is below maxExact
	digits   int  // significant digits
	exponent int
}

func scan(b []byte) (n number, ok bool) {
	n.exact = true
	i := sign(b, 0)
	start := i
	i = n.take(b, i, 0)
	count := i - start
	if i < len(b) && b[i] == '.' {
		start = i + 1
		i = n.take(b, start, 1)
		count += i - start
	}
	if count == 0 {
		return n, false
	}
	if i == len(b) {
		return n, true
	}
	if b[i] != 'e' && b[i] != 'E' {
		return n, false
	}
	return n, n.scale(b, i+1)
}

// take reads digits from b[i:]; each lowers the exponent by fraction. It returns the end.
func (n *number) take(b []byte, i, fraction int) int {
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		n.exponent -= fraction
		if n.digits > 0 || b[i] != '0' {
			n.digits++
		}
		next := n.mantissa*10 + uint64(b[i]-'0')
		if !n.exact || next >= maxExact {
			n.exact = false
			continue
		}
		n.mantissa = next
	}
	return i
}

// scale adds the exponent written at b[i:], which must end there.
func (n *number) scale(b []byte, i int) bool {
	start := sign(b, i)
	e := 0
	for i = start; i < len(b) && b[i]-'0' <= 9; i++ {
		if e < 1<<20 {
			e = e*10 + int(b[i]-'0')
		}
	}
	if i == start || i < len(b) {
		return false
	}
	if b[start-1] == '-' {
		e = -e
	}
	n.exponent += e
	return true
}

func sign(b []byte, i int) int {
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		return i + 1
	}
	return i
}
