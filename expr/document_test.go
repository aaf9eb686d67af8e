// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseConfigReportsAllFaults(t *testing.T) {
	const document = `{
		"defualt": 1,
		"default": {"algorithm": "sample", "count": 65, "by": "luck", "share": -1, "low": 1.5, "seed": "a", "nonsense": 1},
		"request_parameters": ["count", "nonsense", 5],
		"request_algorithms": {
			"sample": "sticky",
			"pick-two": {"algorithm": "sample", "request_algorithms": {}},
			"PICK_TWO": "sample",
			"nobody": "nobody"
		},
		"models": {
			"": "sample",
			"a/b~c": {"algorithm": "sticky", "seed": "12345678901234567", "tokens": "true", "request_parameters": {}},
			"m": {"seed": "x", "nonsense": null},
			"n": {"algorithm": "sample", "low": 2, "high": 1, "low": 0, "limit": 0, "count": "1", "by": null},
			"o": 7,
			"p": {"algorithm": 7},
			"q": {"algorithm": "sample", "low": -1, "high": 18446744073709551616, "request_algorithms": []}
		}
	}`
	_, err := testCatalog(t).ParseConfig(document, "/routing")
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, f := range faults {
		pointer, found := strings.CutPrefix(f.Pointer, "/routing")
		if !found || f.Detail == "" {
			t.Errorf("fault %+v", f)
		}
		got = append(got, pointer+" "+f.Reason)
	}
	want := []string{
		"/defualt unknown_field",
		"/default/count out_of_range",
		"/default/by not_in_set",
		"/default/share out_of_range",
		"/default/low wrong_type",
		"/default/seed unsupported_field",
		"/default/nonsense unknown_field",
		"/request_parameters/1 unknown_parameter",
		"/request_parameters/2 wrong_type",
		"/request_algorithms/sample key_mismatch",
		"/request_algorithms/pick-two/request_algorithms unknown_field",
		"/request_algorithms/PICK_TWO duplicate_algorithm",
		"/request_algorithms/nobody unknown_algorithm",
		"/models/ empty_model",
		"/models/a~1b~0c/seed out_of_range",
		"/models/a~1b~0c/tokens wrong_type",
		"/models/a~1b~0c/request_parameters wrong_type",
		"/models/m/algorithm missing",
		"/models/m/nonsense unknown_field",
		"/models/n/low duplicate_key",
		"/models/n/limit out_of_range",
		"/models/n/count wrong_type",
		"/models/n/by wrong_type",
		"/models/n/low floor_above_ceil",
		"/models/o wrong_type",
		"/models/p/algorithm wrong_type",
		"/models/q/low out_of_range",
		"/models/q/high out_of_range",
		"/models/q/request_algorithms wrong_type",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(faults.Unwrap()); n != len(want) {
		t.Errorf("unwraps to %d errors, want %d", n, len(want))
	}
}

func TestParseConfigRefusesWhatIsNoObject(t *testing.T) {
	for document, want := range map[string]string{
		"": FaultSyntax, "{": FaultSyntax, "[]": FaultWrongType, "null": FaultWrongType, `"sample"`: FaultWrongType,
	} {
		_, err := testCatalog(t).ParseConfig(document, "/routing")
		var faults Faults
		if !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pointer != "/routing" || faults[0].Reason != want {
			t.Errorf("%q: %v, want %s", document, err, want)
		}
	}
}

func TestParseConfigWarnsOfInertFields(t *testing.T) {
	c := mustParse(t, `{
		"default": {"algorithm": "sample", "count": 1, "by": "work", "low": 3},
		"models": {"m": {"algorithm": "sticky", "count": 2}, "n": {"algorithm": "sample", "low": 1, "high": 2}}
	}`)
	const want = "/default/by: inert: has no effect while count is 1\n" +
		"/default/low: inert: has no effect without high\n" +
		"/models/m/count: inert: has no effect in sticky"
	if got := c.Warnings().Error(); got != want {
		t.Errorf("warnings:\n%s\nwant:\n%s", got, want)
	}
}

func TestBaseOfAMethod(t *testing.T) {
	c := mustParse(t, `{
		"models": {
			"own": {"algorithm": "sticky", "seed": "own"},
			"list": {"algorithm": "sample", "request_algorithms": {"STICKY": {"algorithm": "sticky", "seed": "list"}}, "request_parameters": []},
			"shared": "sample"
		},
		"request_algorithms": {"sticky": {"algorithm": "sticky", "seed": "shared"}},
		"default": "sample"
	}`)
	for _, w := range []struct{ model, method, base string }{
		{"own", "", "models/own"},
		{"own", "sticky", "models/own"},
		{"own", "sample", ""}, // the default is not for models with an entry of their own
		{"list", "sticky", "models/list/request_algorithms/sticky"},
		{"shared", "sticky", "request_algorithms/sticky"},
		{"other", "sticky", "request_algorithms/sticky"},
		{"other", "pick-two", "default"},
		{"Own", "", "default"},
	} {
		var lines []string
		if w.method != "" {
			lines = []string{w.method}
		}
		base := ""
		if got, r := c.Resolve(w.model, lines...); r == nil {
			base = got.Base
		} else if r.Code != MethodNotAllowed {
			t.Errorf("%s %s: %v", w.model, w.method, r)
		}
		if base != w.base {
			t.Errorf("%s %s: base %q, want %q", w.model, w.method, base, w.base)
		}
	}
	if _, r := c.Resolve("list", "sticky;seed=x"); r == nil || r.Reason != NotListed {
		t.Errorf("an empty list of a model lets a parameter through: %v", r)
	}
	if _, r := c.Resolve("shared", "sticky;seed=x"); r != nil {
		t.Errorf("a model without a list: %v", r)
	}
	if c.Models() != 3 || c.Default().Base() != "default" {
		t.Errorf("%d models, default at %q", c.Models(), c.Default().Base())
	}
}

func TestOptions(t *testing.T) {
	o := mustParse(t, `{}`).Options()
	if o.Strict || o.RequireModel || o.ModelHeader != "" || len(o.SessionHeaders) > 0 || o.MaxWaiting != 256 || o.MaxRingPoints != 65536 {
		t.Errorf("defaults %+v", o)
	}
	o = mustParse(t, `{"strict": true, "require_model": true, "model_header": "X-Served-Model",
		"session_headers": ["X-Session-ID", "x-user"], "max_waiting": 0, "max_ring_points": 1}`).Options()
	if !o.Strict || !o.RequireModel || o.ModelHeader != "x-served-model" ||
		!slices.Equal(o.SessionHeaders, []string{"x-session-id", "x-user"}) || o.MaxWaiting != 0 || o.MaxRingPoints != 1 {
		t.Errorf("read %+v", o)
	}
}

func TestOptionFaults(t *testing.T) {
	_, err := testCatalog(t).ParseConfig(`{"strict": 1, "model_header": "a b", "session_headers": ["a", 5, ""],
		"max_waiting": 65537, "max_ring_points": 0, "require_model": null}`, "")
	var faults Faults
	errors.As(err, &faults)
	var got []string
	for _, f := range faults {
		got = append(got, f.Pointer+" "+f.Reason)
	}
	want := []string{
		"/strict wrong_type", "/model_header out_of_range", "/session_headers/1 wrong_type", "/session_headers/2 out_of_range",
		"/max_waiting out_of_range", "/max_ring_points out_of_range", "/require_model wrong_type",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
	_, err = testCatalog(t).ParseConfig(`{"session_headers": ["1","2","3","4","5","6","7","8","9","a"]}`, "")
	if faults = nil; !errors.As(err, &faults) || len(faults) != 1 || faults[0].Pointer != "/session_headers/8" {
		t.Errorf("ten headers: %v", err)
	}
}
