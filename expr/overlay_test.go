// SPDX-License-Identifier: Apache-2.0

package expr

import "testing"

func TestCanonicalForm(t *testing.T) {
	c := testConfig(t)
	for value, want := range map[string]string{
		"sample":                               "sample",
		" PICK_TWO ":                           "sample",
		"sample;share=0.250;count=03":          "sample;count=3;share=0.25",
		`pick-two;count="3";share="00.25"`:     "sample;count=3;share=0.25",
		"sample;share=-0.0":                    "sample;share=0",
		"sample;share=1.000":                   "sample;share=1",
		"sample;share=0.001":                   "sample;share=0.001",
		`sample;low=-0;high="00000000000000"`:  "sample;high=0;low=0",
		`sample;low=1;high="999999999999999"`:  "sample;high=999999999999999;low=1",
		`sample;low=1;high="1000000000000000"`: `sample;high="1000000000000000";low=1`,
		`sample;by="work"`:                     "sample;by=work",
		`sticky;seed="a b"`:                    `sticky;seed="a b"`,
		`sticky;seed="a"`:                      "sticky;seed=a",
		`sticky;seed=""`:                       `sticky;seed=""`,
		`sticky;seed="7"`:                      `sticky;seed="7"`,
		`sticky;seed="\"\\"`:                   `sticky;seed="\"\\"`,
		`sticky;tokens="true"`:                 "sticky;tokens=true",
		"sticky;tokens=false;seed=*":           "sticky;seed=*;tokens=false",
	} {
		got, r := c.Resolve("m", value)
		if r != nil {
			t.Errorf("%q: %v", value, r)
			continue
		}
		if got.Canonical != want {
			t.Errorf("%q: canonical form %q, want %q", value, got.Canonical, want)
		}
		again, r := c.Resolve("m", got.Canonical)
		if r != nil || again.Canonical != want {
			t.Errorf("%q: its canonical form comes to %q, %v", value, again.Canonical, r)
		}
	}
}

// overlayFaults are judged in the order of the checks; the body is what a
// client reads.
var overlayFaults = []struct {
	name, document, value, body string
}{
	{
		"method that is none", `{}`, "pick",
		`{"error":"unknown routing method pick","code":"unknown_method"}`,
	},
	{
		"method that is not enabled", `{}`, "Sticky;nonsense=1",
		`{"error":"routing method sticky is not enabled for this model","code":"method_not_allowed"}`,
	},
	{
		"parameter that is none, before a wrong value", `{}`, "sample;colour=1;count=0",
		`{"error":"unknown parameter colour for sample","code":"unknown_parameter","parameter":"colour"}`,
	},
	{
		"wrong value, before a parameter that is none", `{}`, "sample;count=0;colour=1",
		`{"error":"count must be 1 to 64","code":"invalid_value","reason":"out_of_range","parameter":"count"}`,
	},
	{
		"parameter of another algorithm", `{}`, "sample;seed=1",
		`{"error":"sample does not take parameter seed","code":"unsupported_parameter","parameter":"seed"}`,
	},
	{
		"parameter of the operator, before its value", `{}`, "sample;limit=x",
		`{"error":"limit may not be set by a request","code":"parameter_not_allowed","reason":"not_listed","parameter":"limit"}`,
	},
	{
		"parameter that the list leaves out", `{"request_parameters":["share"]}`, "sample;count=1",
		`{"error":"count may not be set by a request","code":"parameter_not_allowed","reason":"not_listed","parameter":"count"}`,
	},
	{
		"decimal for an integer", `{}`, "sample;count=2.0",
		`{"error":"count must be an unsigned integer","code":"invalid_value","reason":"wrong_type","parameter":"count"}`,
	},
	{
		"21 quoted digits", `{}`, `sample;low="000000000000000000001";high=1`,
		`{"error":"low must be an unsigned integer","code":"invalid_value","reason":"wrong_type","parameter":"low"}`,
	},
	{
		"more than 64 bits", `{}`, `sample;low="18446744073709551616";high=1`,
		`{"error":"low must be 0 to 18446744073709551615","code":"invalid_value","reason":"out_of_range","parameter":"low"}`,
	},
	{
		"negative integer", `{}`, "sample;count=-1",
		`{"error":"count must be 1 to 64","code":"invalid_value","reason":"out_of_range","parameter":"count"}`,
	},
	{
		"name for a number", `{}`, "sample;share=inf",
		`{"error":"share must be a number with at most three decimals","code":"invalid_value","reason":"wrong_type","parameter":"share"}`,
	},
	{
		"number for a text", `{"default":"sticky"}`, "sticky;seed=42",
		`{"error":"seed must be a text; put numbers in quotes, as in seed=\"42\"","code":"invalid_value","reason":"wrong_type","parameter":"seed"}`,
	},
	{
		"text that is too long", `{"default":"sticky"}`, "sticky;seed=abcdefghijklmnopq",
		`{"error":"seed must be at most 16 bytes","code":"invalid_value","reason":"out_of_range","parameter":"seed"}`,
	},
	{
		"upper case true", `{"default":"sticky"}`, "sticky;tokens=True",
		`{"error":"tokens must be true or false","code":"invalid_value","reason":"wrong_type","parameter":"tokens"}`,
	},
	{
		"member that is none", `{}`, "sample;by=WAIT",
		`{"error":"by must be one of wait work","code":"invalid_value","reason":"not_in_set","parameter":"by"}`,
	},
	{
		"number for a member", `{}`, "sample;by=1",
		`{"error":"by must be one of wait work","code":"invalid_value","reason":"wrong_type","parameter":"by"}`,
	},
	{
		"both bounds in wrong order", `{}`, "sample;high=1;low=2",
		`{"error":"low must be at most high","code":"invalid_value","reason":"floor_above_ceil","parameter":"low"}`,
	},
	{
		"upper bound below the configured lower one", `{"default":{"algorithm":"sample","low":5}}`, "sample;high=4",
		`{"error":"high must be at least low","code":"invalid_value","reason":"floor_above_ceil","parameter":"high"}`,
	},
	{
		"limit above the configured one", `{"default":{"algorithm":"sample","limit":2.5},"request_parameters":["limit"]}`, "sample;limit=2.501",
		`{"error":"limit may not be raised by a request","code":"parameter_not_allowed","reason":"loosens_policy","parameter":"limit"}`,
	},
	{
		"demand switched off, before what has no effect",
		`{"default":{"algorithm":"sample","need_key":true,"count":1},"request_parameters":["by","need_key"]}`,
		"sample;by=wait;need_key=false",
		`{"error":"need_key may not be switched off by a request","code":"parameter_not_allowed","reason":"loosens_policy","parameter":"need_key"}`,
	},
	{
		"no effect while another has a value", `{}`, "sample;count=1;by=wait",
		`{"error":"by has no effect while count is 1","code":"inert_parameter","parameter":"by"}`,
	},
	{
		"no effect without another", `{}`, "sample;low=1",
		`{"error":"low has no effect without high","code":"inert_parameter","parameter":"low"}`,
	},
	{
		"never an effect", `{"default":"sticky"}`, "sticky;count=1",
		`{"error":"count has no effect in sticky","code":"inert_parameter","parameter":"count"}`,
	},
	{
		"long name", `{}`, "sample;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaz=1",
		`{"error":"unknown parameter aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa... for sample","code":"unknown_parameter","parameter":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."}`,
	},
}

func TestResolveReportsFirstFault(t *testing.T) {
	for _, c := range overlayFaults {
		t.Run(c.name, func(t *testing.T) {
			_, r := mustParse(t, c.document).Resolve("m", c.value)
			if r == nil {
				t.Fatal("accepted")
			}
			if got := string(r.AppendBody(nil)); got != c.body {
				t.Errorf("body %s\nwant %s", got, c.body)
			}
			if r.Code.Status() != 400 {
				t.Errorf("status %d, want 400", r.Code.Status())
			}
		})
	}
}

func TestOverlayKeepsWhatIsNotGiven(t *testing.T) {
	c := mustParse(t, `{"default":{"algorithm":"sample","count":5,"share":3,"low":7,"limit":2},"request_parameters":["high","limit","count"]}`)
	got, r := c.Resolve("m", "sample;high=9;limit=1.5")
	if r != nil {
		t.Fatal(r)
	}
	const want = `{"by":"wait","count":5,"high":9,"limit":1.5,"low":7,"need_key":false,"share":3}`
	if s := string(got.Settings.AppendJSON(nil)); s != want {
		t.Errorf("settings %s, want %s", s, want)
	}
	const base = `{"by":"wait","count":5,"high":null,"limit":2,"low":7,"need_key":false,"share":3}`
	if s := string(c.Default().Settings().AppendJSON(nil)); s != base {
		t.Errorf("the base became %s, want %s", s, base)
	}
}

func TestDemands(t *testing.T) {
	c := mustParse(t, `{"default":{"algorithm":"sticky","need_key":true}}`)
	for value, want := range map[string]Demand{
		"sticky": AffinityKey, "sticky;tokens=true": AffinityKey | InputTokens, "sticky;tokens=false": AffinityKey,
	} {
		got, r := c.Resolve("m", value)
		if r != nil {
			t.Fatal(r)
		}
		if d := got.Settings.Demands(); d != want {
			t.Errorf("%s demands %b, want %b", value, d, want)
		}
	}
	both := AffinityKey | InputTokens
	for have, want := range map[Demand]string{0: HeaderAffinityKey, InputTokens: HeaderAffinityKey, AffinityKey: HeaderInputTokens} {
		if r := both.Missing(have); r == nil || r.Code != MissingHeader || r.Header != want {
			t.Errorf("with %b: %v, want a missing %s", have, r, want)
		}
	}
	if r := both.Missing(both); r != nil {
		t.Errorf("with both: %v", r)
	}
}

func TestSettingsReadByName(t *testing.T) {
	c := mustParse(t, `{"default":{"algorithm":"sample","by":"work","share":0.5,"count":0}}`)
	s := c.Default().Settings()
	if s.Uint("by") != 1 || s.Number("share") != 0.5 || s.Uint("count") != 1 || s.Value("low").IsSet() || s.Bool("need_key") {
		t.Errorf("settings read as %s", s.AppendJSON(nil))
	}
	if s.Value("seed").IsSet() || s.Text("nonsense") != "" {
		t.Error("what sample does not take reads as set")
	}
}
