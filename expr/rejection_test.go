// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/json"
	"testing"
)

func TestEveryCodeHasAStatusAndASentence(t *testing.T) {
	seen := make(map[string]bool)
	Codes(func(c Code) {
		r := Rejection{Code: c, Reason: WrongType, Method: "m", Parameter: "p", schema: &Parameter{Name: "p", Type: Uint}}
		if c == MalformedExpression {
			r.Reason = Empty
		}
		var body struct{ Error, Code string }
		if err := json.Unmarshal(r.AppendBody(nil), &body); err != nil {
			t.Fatalf("%s: %v", r.AppendBody(nil), err)
		}
		if body.Code == "" || seen[body.Code] || body.Error == "" {
			t.Errorf("code %d: %+v", c, body)
		}
		if s := c.Status(); s != 400 && s != 404 && s != 500 && s != 503 {
			t.Errorf("%v answers %d", c, s)
		}
		seen[body.Code] = true
	})
	if len(seen) != 15 {
		t.Errorf("%d codes, want 15", len(seen))
	}
	if s := Code(200).String() + Reason(200).String() + Cause(200).String() + Result(200).String(); s != "" {
		t.Errorf("names beyond the lists: %q", s)
	}
}

func TestEveryMalformedReasonHasASentence(t *testing.T) {
	for _, c := range syntaxFaults {
		var e Expression
		r := e.Parse(c.value)
		if r == nil || r.Error() == "" || r.Reason.String() == "" {
			t.Errorf("%s: %v", c.name, r)
		}
	}
}

func TestBodiesOfOtherReplies(t *testing.T) {
	for _, c := range []struct {
		rejection Rejection
		want      string
	}{
		{Rejection{Code: MissingHeader, Header: HeaderModel}, `{"error":"x-model is required","code":"missing_header","header":"x-model"}`},
		{Rejection{Code: InvalidHeader, Header: HeaderPriority}, `{"error":"x-priority must be an unsigned 32-bit integer","code":"invalid_header","header":"x-priority"}`},
		{Rejection{Code: ExpressionTooLong}, `{"error":"x-routing-method is longer than 1024 bytes","code":"expression_too_long"}`},
		{Rejection{Code: NoEligibleCandidates}, `{"error":"no endpoint is registered for this model","code":"no_eligible_candidates"}`},
		{Rejection{Code: InputWorkLimitExceeded}, `{"error":"too much prompt work is waiting for this model","code":"input_work_limit_exceeded"}`},
		{Rejection{Code: NoEligibleBackend}, `{"error":"no endpoint can take the request","code":"no_eligible_backend"}`},
		{Rejection{Code: InternalError}, `{"error":"internal routing error","code":"internal_error"}`},
		{
			Rejection{Code: MalformedExpression, Reason: NativeBoolean, Parameter: "a"},
			`{"error":"write a=true or a=false","code":"malformed_expression","reason":"native_boolean","parameter":"a"}`,
		},
		{
			Rejection{Code: UnknownMethod, Method: "a\"\\\n"},
			`{"error":"unknown routing method a\"\\\u000a","code":"unknown_method"}`,
		},
	} {
		if got := string(c.rejection.AppendBody(nil)); got != c.want {
			t.Errorf("body %s\nwant %s", got, c.want)
		}
	}
}

func TestLoggedHeaderIsPlain(t *testing.T) {
	long := make([]byte, 200)
	if got := AppendLogged(nil, string(long)); len(got) != 128*4 {
		t.Errorf("%d bytes logged, want %d", len(got), 128*4)
	}
	if got := string(AppendLogged(nil, "a \"\\\x7f\r\xc3")); got != `a \x22\x5c\x7f\x0d\xc3` {
		t.Errorf("logged %s", got)
	}
}

func TestRejectionNamesOnlyKnownAlgorithms(t *testing.T) {
	c := testConfig(t)
	for value, want := range map[string]string{
		"nobody": "unknown", "sample;": "unknown", "PICK_TWO;colour=1": "sample", "sticky;count=1": "sticky",
	} {
		if _, r := c.Resolve("m", value); r == nil || r.Algorithm() != want {
			t.Errorf("%q: %+v, want %s", value, r, want)
		}
	}
}
