// SPDX-License-Identifier: Apache-2.0

package decimal

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     float64
		ok       bool
	}{
		{"integer", "12", 12, true},
		{"fraction", "3.0", 3, true},
		{"negative", "-4", -4, true},
		{"plus sign", "+4", 4, true},
		{"negative zero", "-0", math.Copysign(0, -1), true},
		{"exponent with leading zeros", "3.9024848896e+010", 3.9024848896e10, true},
		{"capital exponent", "1E3", 1000, true},
		{"negative exponent", "25e-2", 0.25, true},
		{"no digit before the point", ".5", 0.5, true},
		{"no digit after the point", "5.", 5, true},
		{"more digits than a float64 has", "0.0026235242675994863", 0.0026235242675994863, true},
		{"largest float64", "1.7976931348623157e308", math.MaxFloat64, true},
		{"too small becomes zero", "1e-400", 0, true},
		{"zero with a huge exponent", "0e999999999999", 0, true},
		{"too large", "1e400", 0, false},
		{"just too large", "1.8e308", 0, false},
		{"too many digits", strings.Repeat("9", 400), 0, false},
		{"huge exponent", "1e99999999999999999999", 0, false},
		{"empty", "", 0, false},
		{"sign alone", "-", 0, false},
		{"point alone", ".", 0, false},
		{"exponent without digits", "1e", 0, false},
		{"exponent with sign only", "1e+", 0, false},
		{"exponent without mantissa", "e5", 0, false},
		{"two points", "1.2.3", 0, false},
		{"not a number", "NaN", 0, false},
		{"infinity", "+Inf", 0, false},
		{"hexadecimal", "0x10", 0, false},
		{"underscore", "1_000", 0, false},
		{"quoted", `"0.7"`, 0, false},
		{"trailing space", "1 ", 0, false},
	} {
		got, ok := Parse([]byte(c.in))
		if ok != c.ok || ok && math.Float64bits(got) != math.Float64bits(c.want) {
			t.Errorf("%s: Parse(%q) = %v, %v, want %v, %v", c.name, c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestParseEqualsStrconv(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v := math.Float64frombits(random.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		format := "eEf"[random.IntN(3)]
		s := strconv.FormatFloat(v, format, random.IntN(20)-1, 64)
		want, err := strconv.ParseFloat(s, 64)
		got, ok := Parse([]byte(s))
		if ok != (err == nil) || ok && got != want {
			t.Fatalf("Parse(%q) = %v, %v, want %v, %v", s, got, ok, want, err)
		}
	}
}

var grammar = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.5e3", "-0", "1e400", "0x1p3", "9007199254740993", ".", "1e-5_0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := Parse(b)
		want, err := strconv.ParseFloat(string(b), 64)
		if wantOK := grammar.Match(b) && err == nil; ok != wantOK {
			t.Fatalf("Parse(%q) ok = %v, want %v", b, ok, wantOK)
		}
		if ok && got != want {
			t.Fatalf("Parse(%q) = %v, want %v", b, got, want)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	in := []byte("8.128902e+06")
	for b.Loop() {
		Parse(in)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	for _, s := range []string{"3.0", "NaN", "0.0026235242675994863", "1e400", "junk"} {
		in := []byte(s)
		if n := testing.AllocsPerRun(100, func() { Parse(in) }); n != 0 {
			t.Errorf("Parse(%q) allocates %v times", s, n)
		}
	}
}
