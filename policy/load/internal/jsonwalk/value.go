// SPDX-License-Identifier: Apache-2.0

package jsonwalk

import (
	"math"

	"github.com/kvsteer/kvsteer/policy/load/internal/decimal"
)

// Float returns the number that v is, or that it holds as a string.
// Protocol buffers write 64-bit integers as strings in JSON.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind != Number && v.Kind != String || v.Cut {
		return 0, false
	}
	return decimal.Parse(v.Text)
}

// Uint returns the non-negative integer that v is or holds as a string, up to 2^53.
func (v Value) Uint() (n uint64, ok bool) {
	f, ok := v.Float()
	if !ok || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// Is reports whether v is the string s.
func (v Value) Is(s string) bool {
	return v.Kind == String && !v.Cut && string(v.Text) == s
}

// bareKind tells what an unquoted token is.
func bareKind(b []byte) (k Kind, ok bool) {
	switch string(b) {
	case "null":
		return Null, true
	case "false":
		return False, true
	case "true":
		return True, true
	}
	return Number, isNumber(b)
}

// isNumber reports whether b is a number of RFC 8259 §6, which is stricter than decimal.Parse:
// no plus sign, no leading zero, digits on both sides of the point.
func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	whole := digits(b)
	if whole == 0 || whole > 1 && b[0] == '0' {
		return false
	}
	b = b[whole:]
	if len(b) > 0 && b[0] == '.' {
		n := digits(b[1:])
		if n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) == 0 {
		return true
	}
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	b = b[1:]
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	return len(b) > 0 && digits(b) == len(b)
}

// digits counts the digits that b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n]-'0' <= 9 {
		n++
	}
	return n
}
