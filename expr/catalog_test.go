// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"slices"
	"testing"
)

// testAlgorithms use everything that a declaration can say.
func testAlgorithms() []Algorithm {
	policies := []Parameter{
		{Name: "need_key", Type: Bool, Default: BoolValue(false), Operator: true, Tighten: OnlyOn, Demands: AffinityKey},
		{Name: "limit", Type: Number, Request: Range{Max: 1e6, Open: true}, Static: Range{Max: 1e6, Open: true}, Operator: true, Tighten: OnlyLower},
	}
	count := Parameter{Name: "count", Type: Uint, Default: UintValue(2), Request: Range{Min: 1, Max: 64}, Static: Range{Max: 64}, StaticZero: 1}
	wide := func(name string) Parameter {
		return Parameter{Name: name, Type: Uint, Request: AnyUint, Static: AnyUint}
	}
	low, high := wide("low"), wide("high")
	low.AtMost, low.Inert, high.Inert = "high", InertWithout("high"), InertWithout("low")
	return []Algorithm{
		{
			Name: "sample", Aliases: []string{"pick-two"},
			Parameters: append([]Parameter{
				count,
				{Name: "by", Type: Enum, Members: []string{"wait", "work"}, Default: MemberValue(0), Inert: InertWhile("count", 1)},
				{Name: "share", Type: Number, Default: NumberValue(0.25), Request: Range{Max: 1}, Static: Range{Max: 9}},
				low, high,
			}, policies...),
		},
		{
			Name: "sticky", Stateful: true,
			Parameters: append([]Parameter{
				{Name: "seed", Type: String, Default: StringValue(""), Static: Range{Max: 16}},
				{Name: "tokens", Type: Bool, Default: BoolValue(false), Demands: InputTokens},
				{Name: "count", Type: Uint, Default: UintValue(0), Request: AnyUint, Static: AnyUint, Inert: InertAlways},
			}, policies...),
		},
	}
}

func testCatalog(t testing.TB) *Catalog {
	t.Helper()
	c, err := NewCatalog("sample", testAlgorithms())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// testConfig enables both algorithms for all models.
func testConfig(t testing.TB) *Config {
	t.Helper()
	return mustParse(t, `{"request_algorithms":{"sticky":"sticky"}}`)
}

func mustParse(t testing.TB, document string) *Config {
	t.Helper()
	c, err := testCatalog(t).ParseConfig(document, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAlgorithmSpellings(t *testing.T) {
	c := testCatalog(t)
	for spelling, want := range map[string]string{
		"sample": "sample", "SAMPLE": "sample", "pick-two": "sample", "Pick_Two": "sample", "sticky": "sticky",
		"picktwo": "", "pick--two": "", "sample-": "", "": "", "a-name-that-is-longer-than-any-other-name-in-the-whole-catalog-is": "",
	} {
		got := ""
		if a := c.algorithm(spelling); a != nil {
			got = a.name
		}
		if got != want {
			t.Errorf("algorithm(%q) = %q, want %q", spelling, got, want)
		}
	}
}

func TestNewCatalogRefuses(t *testing.T) {
	one := func(p ...Parameter) []Algorithm { return []Algorithm{{Name: "a", Parameters: p}} }
	many := Algorithm{Name: "a"}
	for i := range maxNames + 1 {
		many.Parameters = append(many.Parameters, Parameter{Name: "p" + string(appendUint(nil, uint64(i))), Type: Bool})
	}
	flag := Parameter{Name: "p", Type: Bool, Default: BoolValue(false)}
	for _, c := range []struct {
		name       string
		preset     string
		algorithms []Algorithm
		want       error
	}{
		{"a name that normalising changes", "A", []Algorithm{{Name: "A"}}, ErrName},
		{"an alias that is another's name", "a", []Algorithm{{Name: "a"}, {Name: "b", Aliases: []string{"a"}}}, ErrName},
		{"a parameter twice", "a", one(flag, flag), ErrName},
		{"a parameter no expression can name", "a", one(Parameter{Name: "P", Type: Bool}), ErrName},
		{"too many names", "a", []Algorithm{many}, ErrTooMany},
		{"one name with two types", "a", []Algorithm{
			{Name: "a", Parameters: []Parameter{flag}},
			{Name: "b", Parameters: []Parameter{{Name: "p", Type: String}}},
		}, ErrSchema},
		{"a request range wider than the static one", "a", one(Parameter{Name: "p", Type: Uint, Request: Range{Max: 2}, Static: Range{Max: 1}}), ErrRange},
		{"an open lower bound against a closed one", "a", one(Parameter{Name: "p", Type: Number, Request: Range{Max: 1}, Static: Range{Max: 1, Open: true}}), ErrRange},
		{"a default out of range", "a", one(Parameter{Name: "p", Type: Uint, Default: UintValue(2), Request: Range{Max: 1}, Static: Range{Max: 1}}), ErrRange},
		{"a default that is no member", "a", one(Parameter{Name: "p", Type: Enum, Default: MemberValue(0)}), ErrRange},
		{"no type", "a", one(Parameter{Name: "p"}), ErrRange},
		{"a bound by a parameter of another algorithm", "a", one(Parameter{Name: "p", Type: Uint, AtMost: "q"}), ErrRelation},
		{"inert without a parameter of another algorithm", "a", one(Parameter{Name: "p", Type: Bool, Inert: InertWithout("q")}), ErrRelation},
		{"an alias as the default", "b", []Algorithm{{Name: "a", Aliases: []string{"b"}}}, ErrPreset},
		{"a default that is none", "c", []Algorithm{{Name: "a"}}, ErrPreset},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewCatalog(c.preset, c.algorithms); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestCatalogListsAlgorithmsInOrder(t *testing.T) {
	var got []string
	testCatalog(t).Algorithms(func(name string) { got = append(got, name) })
	if want := []string{"sample", "sticky"}; !slices.Equal(got, want) {
		t.Errorf("algorithms %v, want %v", got, want)
	}
}
