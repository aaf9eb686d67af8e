// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// FuzzParse compares with a general structured-field parser, which must accept
// all that the profile accepts and read it in the same way.
func FuzzParse(f *testing.F) {
	for _, c := range syntaxFaults {
		f.Add(c.value)
	}
	f.Add(`  m/1:x;  a=-1;b=1.25;*c.d-e_f=T*;g="say \"\\\" =";h=""  `)
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > MaxBytes {
			var e Expression
			if r := e.Parse(value); r == nil || r.Code != ExpressionTooLong {
				t.Errorf("%d bytes: %v", len(value), r)
			}
			return
		}
		checkOracle(t, value)
	})
}

// meaning is an accepted expression as values, whatever its spelling.
type meaning struct {
	algorithm string
	given     set
	values    []Value
}

func read(c *Config, value string) (meaning, string, bool) {
	var o overlay
	if r := o.resolve(c, "m", value); r != nil {
		return meaning{}, "", false
	}
	return meaning{o.settings.algorithm.name, o.given, o.settings.values}, string(o.form()), true
}

func (m meaning) equal(n meaning) bool {
	return m.algorithm == n.algorithm && m.given == n.given && slices.Equal(m.values, n.values)
}

// permissive allows everything that a configuration can allow.
const permissive = `{"default":{"algorithm":"sample","limit":7},"request_algorithms":{"sticky":"sticky"},
	"request_parameters":["count","by","share","low","high","seed","tokens","need_key","limit"]}`

func addExpressions(f *testing.F) {
	for _, value := range []string{
		"sample", `pick-two;count="03";share=0.250`, `sample;low=1;high="18446744073709551615"`,
		`sticky;seed="\"\\ ="`, "sticky;tokens=true;seed=a", "sample;limit=6.999;need_key=true",
		`sample;by="work"`, "sample;share=-0.0;low=-0;high=0",
	} {
		f.Add(value, value)
	}
	for _, c := range overlayFaults {
		f.Add(c.value, "sample")
	}
}

// FuzzCanonical holds that the canonical form means what its expression means,
// is its own canonical form, and is equal for equal meanings only.
func FuzzCanonical(f *testing.F) {
	addExpressions(f)
	c := mustParse(f, permissive)
	f.Fuzz(func(t *testing.T, a, b string) {
		meaningA, formA, ok := read(c, a)
		if !ok {
			return
		}
		if len(formA) <= MaxBytes {
			again, form, ok := read(c, formA)
			if !ok || form != formA || !again.equal(meaningA) {
				t.Errorf("%q means %+v, its canonical form %q means %+v", a, meaningA, formA, again)
			}
		}
		if meaningB, formB, ok := read(c, b); ok && (formA == formB) != meaningA.equal(meaningB) {
			// Values that are not given come from the base, which is one
			// per algorithm here, so they never make the difference.
			t.Errorf("%q and %q: forms %q and %q, same meaning: %v", a, b, formA, formB, meaningA.equal(meaningB))
		}
	})
}

// FuzzOverlay holds that an accepted expression comes to settings that the
// configuration would accept too, and never loosens a policy.
func FuzzOverlay(f *testing.F) {
	addExpressions(f)
	c := mustParse(f, permissive)
	f.Fuzz(func(t *testing.T, value, _ string) {
		got, r := c.Resolve("m", value)
		if r != nil {
			return
		}
		document := strings.Builder{}
		document.WriteString(`{"default":{"algorithm":"` + got.Settings.Algorithm() + `"`)
		got.Settings.Each(func(p *Parameter, v Value) {
			if v.IsSet() {
				text := p.appendJSON(nil, v)
				if p.Type == Uint {
					text = appendUint(nil, v.Uint())
				}
				document.WriteString(`,"` + p.Name + `":` + string(text))
			}
		})
		document.WriteString("}}")
		static, err := testCatalog(t).ParseConfig(document.String(), "")
		if err != nil {
			t.Fatalf("%q comes to %s, which is refused: %v", value, document.String(), err)
		}
		if !slices.Equal(static.Default().settings.values, got.Settings.values) {
			t.Errorf("%q comes to %s, which reads differently", value, document.String())
		}
		if limit := got.Settings.Value("limit"); got.Settings.Algorithm() == "sample" && !(limit.Number() <= 7) || limit.Number() > math.MaxFloat64 {
			t.Errorf("%q raises the limit to %v", value, limit.Number())
		}
	})
}

// FuzzConfig holds that no document makes the reader fail, and that one it
// accepts answers every model.
func FuzzConfig(f *testing.F) {
	f.Add(permissive)
	f.Add(`{"models":{"m":{"algorithm":"sticky","request_algorithms":{"sample":"pick-two"}}}}`)
	f.Add(`{"default":{"algorithm":"sample","low":-1}}`)
	f.Fuzz(func(t *testing.T, document string) {
		c, err := testCatalog(t).ParseConfig(document, "")
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c != nil, err)
		}
		if err != nil {
			return
		}
		for _, model := range []string{"", "m"} {
			if _, r := c.Resolve(model); r != nil {
				t.Errorf("model %q: %v", model, r)
			}
		}
	})
}
