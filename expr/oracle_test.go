// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// stricter names why the profile refuses a value that RFC 9651 allows. Any
// other difference from a general parser is a defect.
var stricter = map[Reason]string{
	Comma:          "a gateway that splits lists must not cut a value in two",
	StringContent:  "a gateway that splits parameters must not cut a value in two",
	DuplicateKey:   "the last one would win silently",
	NativeBoolean:  "true and false are written out",
	ValueType:      "no parameter is a byte sequence, date, display string or list",
	MethodNotToken: "a method is a name",
	MultipleLines:  "lines are never joined",
}

// oracle reads a value with a general structured-field parser.
func oracle(value string) (httpsfv.Item, error) { return httpsfv.UnmarshalItem([]string{value}) }

// checkOracle parses value with both and reports a difference that has no name.
func checkOracle(t *testing.T, value string) {
	t.Helper()
	var e Expression
	r := e.Parse(value)
	item, err := oracle(value)
	if r != nil {
		if err == nil && r.Code == MalformedExpression && stricter[r.Reason] == "" {
			t.Errorf("%q: refused with %v, but it is a structured field", value, r.Reason)
		}
		return
	}
	if err != nil {
		t.Errorf("%q: accepted, but it is no structured field: %v", value, err)
		return
	}
	if token, ok := item.Value.(httpsfv.Token); !ok || string(token) != e.Method() {
		t.Errorf("%q: method %q, want %v", value, e.Method(), item.Value)
	}
	names := item.Params.Names()
	if len(names) != e.Len() {
		t.Fatalf("%q: %d parameters, want %d", value, e.Len(), len(names))
	}
	for i := range e.Len() {
		key, kind, text := e.Parameter(i)
		if want, _ := item.Params.Get(key); !sameValue(kind, text, want) {
			t.Errorf("%q: %s is %q of kind %d, want %v", value, key, text, kind, want)
		}
	}
}

func sameValue(kind Kind, text string, want any) bool {
	switch w := want.(type) {
	case httpsfv.Token:
		return kind == Token && text == string(w)
	case string:
		return kind == Quoted && text == w
	case int64:
		p := Parameter{Type: Number, Request: Range{Min: -1e16, Max: 1e16}}
		v, reason := p.convert(kind, text)
		return kind == Integer && reason == 0 && v.Number() == float64(w)
	case float64:
		p := Parameter{Type: Number, Request: Range{Min: -1e16, Max: 1e16}}
		v, reason := p.convert(kind, text)
		return kind == Decimal && reason == 0 && v.Number() == w
	}
	return false
}

func TestParseAgreesWithStructuredFields(t *testing.T) {
	for _, c := range syntaxFaults {
		checkOracle(t, c.value)
	}
	for _, value := range []string{
		"m", " m ", "m;a=1", "m;  a=-0;b=-1.5", "*;a=*", `m;a="\"\\"`, "m;a=tok/en:x", "m;a=000000000000001",
		"m;a=999999999999999;b=999999999999.999", "m;a.b-c_d*=1", "m;a=b\t", "m\n", "m;a=\x00",
	} {
		checkOracle(t, value)
	}
}

// The published tests of structured fields: items, tokens, strings and numbers,
// alone and as the value of a parameter.
const (
	fieldTests      = "../../shared/data/structured-field-tests"
	fieldTestsCount = 800
)

func TestParseAgreesWithPublishedFieldTests(t *testing.T) {
	if _, err := os.Stat(fieldTests); errors.Is(err, os.ErrNotExist) {
		t.Skip("the structured-field tests are not here")
	}
	files, err := filepath.Glob(filepath.Join(fieldTests, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Raw        []string `json:"raw"`
			HeaderType string   `json:"header_type"`
		}
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases {
			if c.HeaderType != "item" || len(c.Raw) != 1 || len(c.Raw[0]) > MaxBytes-8 {
				continue
			}
			count++
			checkOracle(t, c.Raw[0])
			checkOracle(t, "m;key="+strings.Trim(c.Raw[0], " "))
		}
	}
	if count < fieldTestsCount {
		t.Errorf("%d cases, want at least %d", count, fieldTestsCount)
	}
}
