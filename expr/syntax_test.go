// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strings"
	"testing"
)

// syntaxFaults are the first faults of malformed values, by production.
var syntaxFaults = []struct {
	name, value string
	reason      Reason
	parameter   string
	offset      int
}{
	{"nothing", "", Empty, "", 0},
	{"only spaces", "  ", Empty, "", 0},
	{"tab around the value", "\tm", Charset, "", 0},
	{"byte above ASCII after a comma", "m,\x80", Charset, "", 2},
	{"comma in quotes", `m;a="b,c"`, Comma, "", 6},
	{"comma where the structure is wrong before it", "1,", Comma, "", 1},
	{"string as method", `"m"`, MethodNotToken, "", 0},
	{"digit as method", " 1", MethodNotToken, "", 1},
	{"space before a semicolon", "m ;a=1", TrailingData, "", 1},
	{"second point", "m;a=1.2.3", TrailingData, "", 7},
	{"exponent", "m;a=1e3", TrailingData, "", 5},
	{"equals sign after a token", "m;a=b=c", TrailingData, "", 5},
	{"semicolon at the end", "m;", BadKey, "", 2},
	{"two semicolons", "m;;a=1", BadKey, "", 2},
	{"upper case key", "m;A=1", BadKey, "", 2},
	{"key twice", "m;a=1;b=2;a=1", DuplicateKey, "a", 10},
	{"key twice where the first is a beginning of it", "m;ab=1;a=1;ab=1", DuplicateKey, "ab", 11},
	{"bare key", "m;a", NativeBoolean, "a", 3},
	{"space before the equals sign", "m;a =1", NativeBoolean, "a", 3},
	{"structured-field true", "m;a=?1", NativeBoolean, "a", 4},
	{"question mark and more", "m;a=?2", ValueSyntax, "a", 4},
	{"question mark at the end", "m;a=?", ValueSyntax, "a", 4},
	{"open quote", `m;a="b`, StringSyntax, "a", 6},
	{"open quote at the end", `m;a="`, StringSyntax, "a", 5},
	{"unknown escape", `m;a="\n"`, StringSyntax, "a", 6},
	{"escape at the end", `m;a="\`, StringSyntax, "a", 6},
	{"semicolon in quotes that never close", `m;a="b;c`, StringContent, "a", 6},
	{"16 digits", "m;a=1234567890123456", NumberSyntax, "a", 4},
	{"13 digits and a fraction", "m;a=1234567890123.5", NumberSyntax, "a", 4},
	{"four decimals", "m;a=0.1234", NumberSyntax, "a", 4},
	{"no decimal", "m;a=1.", NumberSyntax, "a", 4},
	{"only a minus sign", "m;a=-", NumberSyntax, "a", 4},
	{"minus sign and a point", "m;a=-.5", NumberSyntax, "a", 4},
	{"byte sequence", "m;a=:YQ==:", ValueType, "a", 4},
	{"date", "m;a=@1", ValueType, "a", 4},
	{"display string", `m;a=%"b"`, ValueType, "a", 4},
	{"inner list", "m;a=(b c)", ValueType, "a", 4},
	{"plus sign", "m;a=+1", ValueSyntax, "a", 4},
	{"no value", "m;a=;b=1", ValueSyntax, "a", 4},
	{"space before the value", "m;a= 1", ValueSyntax, "a", 4},
}

func TestParseReportsFirstFault(t *testing.T) {
	for _, c := range syntaxFaults {
		t.Run(c.name, func(t *testing.T) {
			var e Expression
			r := e.Parse(c.value)
			if r == nil {
				t.Fatalf("Parse(%q) accepts", c.value)
			}
			want := Rejection{Code: MalformedExpression, Reason: c.reason, Parameter: c.parameter, Offset: c.offset}
			if *r != want {
				t.Errorf("Parse(%q) = %+v, want %+v", c.value, *r, want)
			}
		})
	}
}

func TestParseReadsParameters(t *testing.T) {
	var e Expression
	if r := e.Parse(`  m/1:x;  a=-1;b=1.25;*c.d-e_f=T*;g="say \"\\\" =";h=""  `); r != nil {
		t.Fatal(r)
	}
	want := []struct {
		key  string
		kind Kind
		text string
	}{
		{"a", Integer, "-1"}, {"b", Decimal, "1.25"}, {"*c.d-e_f", Token, "T*"},
		{"g", Quoted, `say "\" =`}, {"h", Quoted, ""},
	}
	if e.Method() != "m/1:x" || e.Len() != len(want) {
		t.Fatalf("method %q with %d parameters", e.Method(), e.Len())
	}
	for i, w := range want {
		if key, kind, text := e.Parameter(i); key != w.key || kind != w.kind || text != w.text {
			t.Errorf("parameter %d is %q %d %q, want %+v", i, key, kind, text, w)
		}
	}
}

func TestParseBoundsLengthFirst(t *testing.T) {
	var e Expression
	if r := e.Parse(strings.Repeat("\xff", MaxBytes+1)); r == nil || r.Code != ExpressionTooLong {
		t.Errorf("rejected with %v, want %v", r, ExpressionTooLong)
	}
	if r := e.Parse("m" + strings.Repeat(" ", MaxBytes-1)); r != nil {
		t.Errorf("spaces up to the bound: %v", r)
	}
}

// TestParseHoldsAllParameters fills a value with the shortest parameters that
// differ, and so shows that the array is neither too short nor longer than
// needed.
func TestParseHoldsAllParameters(t *testing.T) {
	const first, rest = "abcdefghijklmnopqrstuvwxyz*", "abcdefghijklmnopqrstuvwxyz0123456789_-.*"
	keys := strings.Split(first, "")
	for _, a := range first {
		for _, b := range rest {
			keys = append(keys, string([]rune{a, b}))
		}
	}
	value, n := "m", 0
	for ; len(value)+len(keys[n])+3 <= MaxBytes; n++ {
		value += ";" + keys[n] + "=v"
	}
	var e Expression
	if r := e.Parse(value); r != nil {
		t.Fatal(r)
	}
	if n != maxParameters || e.Len() != n {
		t.Errorf("%d parameters fit, read %d, room for %d", n, e.Len(), maxParameters)
	}
}

func TestParseDoesNotAllocate(t *testing.T) {
	var e Expression
	value := `pick-two;count=03;share="0.5";by=work;low=1;high="18446744073709551615"`
	if n := testing.AllocsPerRun(100, func() { e.Parse(value) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
