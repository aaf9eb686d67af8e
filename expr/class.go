// SPDX-License-Identifier: Apache-2.0

package expr

// class says in which productions a byte may stand.
type class uint8

const (
	tokenStart class = 1 << iota // ALPHA / "*"
	tokenRest                    // tchar / ":" / "/"
	keyStart                     // a-z / "*"
	keyRest                      // a-z / DIGIT / "_" / "-" / "." / "*"
	digit
	comma
	foreign // outside 0x20-0x7E
)

// classes maps each byte to its classes, after RFC 9651 §3.1.2 and §3.3.4.
var classes = func() (t [256]class) {
	for b := range t {
		if b < 0x20 || b > 0x7e {
			t[b] = foreign
		}
	}
	for b := byte('a'); b <= 'z'; b++ {
		t[b] = tokenStart | tokenRest | keyStart | keyRest
		t[b-'a'+'A'] = tokenStart | tokenRest
	}
	for b := byte('0'); b <= '9'; b++ {
		t[b] = digit | tokenRest | keyRest
	}
	for _, b := range []byte("!#$%&'+^`|~:/") {
		t[b] = tokenRest
	}
	for _, b := range []byte("-._") {
		t[b] = tokenRest | keyRest
	}
	t['*'] = tokenStart | tokenRest | keyStart | keyRest
	t[','] = comma
	return t
}()

// is reports whether b belongs to one of the classes c.
func (c class) is(b byte) bool { return classes[b]&c != 0 }

// all reports whether all bytes of s belong to one of the classes c.
func (c class) all(s string) bool {
	for i := 0; i < len(s); i++ {
		if !c.is(s[i]) {
			return false
		}
	}
	return true
}

// isToken reports whether s is a whole token.
func isToken(s string) bool { return s != "" && tokenStart.is(s[0]) && tokenRest.all(s) }

// isKey reports whether s is a whole key.
func isKey(s string) bool { return s != "" && keyStart.is(s[0]) && keyRest.all(s) }

// isNumber reports whether s is a whole integer (at most 15 digits) or decimal
// (at most 12 digits, a point, 1 to 3 digits), with an optional minus sign.
func isNumber(s string) (decimal, ok bool) {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	whole := digits(s)
	if whole == len(s) {
		return false, whole >= 1 && whole <= 15
	}
	if s[whole] != '.' {
		return false, false
	}
	fraction := digits(s[whole+1:])
	ok = whole >= 1 && whole <= 12 && fraction >= 1 && fraction <= 3
	return true, ok && whole+1+fraction == len(s)
}

// digits returns how many digits s starts with.
func digits(s string) int {
	n := 0
	for n < len(s) && digit.is(s[n]) {
		n++
	}
	return n
}
