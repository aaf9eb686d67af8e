// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/expr"
)

// publishedVectors are the vectors of the specification, which are not part of
// the project; sampleVectors are some of them that are.
const (
	publishedVectors  = "../../../shared/spec/vectors.json"
	publishedCount    = 434
	sampleVectors     = "testdata/vectors.json"
	sampleVectorCount = 98
)

// vectors is the file's layout. What depends on the kind of a case is read by
// its test.
type vectors struct {
	Configs            map[string]json.RawMessage `json:"configs"`
	ExpressionCases    []expressionCase           `json:"expression_cases"`
	ConfigCases        []configCase               `json:"config_cases"`
	CacheSequences     []cacheSequence            `json:"cache_sequences"`
	CacheGenerated     []cacheGenerated           `json:"cache_generated"`
	ScoreCases         []json.RawMessage          `json:"score_cases"`
	WaitAndWidenPools  []json.RawMessage          `json:"wait_and_widen_pools"`
	HashCases          []json.RawMessage          `json:"hash_cases"`
	PulsarRankings     []json.RawMessage          `json:"pulsar_rankings"`
	AffinitySubsets    []json.RawMessage          `json:"affinity_subsets"`
	Bands              []json.RawMessage          `json:"bands"`
	AdmissionCases     []json.RawMessage          `json:"admission_cases"`
	RequestHeaderCases []headerCase               `json:"request_header_cases"`
}

func (v *vectors) count() int {
	return len(v.ExpressionCases) + len(v.ConfigCases) + len(v.CacheSequences) + len(v.CacheGenerated) +
		len(v.ScoreCases) + len(v.WaitAndWidenPools) + len(v.HashCases) + len(v.PulsarRankings) +
		len(v.AffinitySubsets) + len(v.Bands) + len(v.AdmissionCases) + len(v.RequestHeaderCases)
}

// eachVectors runs a test with the project's own vectors and, where they are
// there, with all published ones.
func eachVectors(t *testing.T, test func(t *testing.T, v *vectors)) {
	t.Run("sample", func(t *testing.T) { test(t, readVectors(t, sampleVectors, sampleVectorCount)) })
	t.Run("published", func(t *testing.T) {
		if _, err := os.Stat(publishedVectors); errors.Is(err, os.ErrNotExist) {
			t.Skip("the published vectors are not here")
		}
		test(t, readVectors(t, publishedVectors, publishedCount))
	})
}

func readVectors(t *testing.T, name string, atLeast int) *vectors {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	v := new(vectors)
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	if n := v.count(); n < atLeast {
		t.Fatalf("%s has %d cases, want at least %d", name, n, atLeast)
	}
	return v
}

// testCatalog holds the algorithms that the vectors know: this package's and two
// that are declared in package routing and only read here.
func testCatalog(t testing.TB) *expr.Catalog {
	t.Helper()
	c, err := expr.NewCatalog(PowerOfN, append(Algorithms(),
		expr.Algorithm{Name: "round-robin", Stateful: true, Parameters: Policies()},
		expr.Algorithm{Name: "random", Parameters: Policies()},
	))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everything is what the vectors take an absent document for.
const everything = `{"default":"power-of-n","request_algorithms":{"power-of-n":"power-of-n",
	"wait-and-widen":"wait-and-widen","round-robin":"round-robin","random":"random",
	"pulsar":"pulsar","pulsar-wait-and-widen":"pulsar-wait-and-widen"}}`

// config reads one of the named documents.
func (v *vectors) config(t *testing.T, name string) *expr.Config {
	t.Helper()
	document, known := v.Configs[name]
	if !known {
		t.Fatalf("no config %q", name)
	}
	text := string(document)
	if text == "null" {
		text = everything
	}
	return parsed(t, text)
}

// parsed reads a document that has no faults.
func parsed(t testing.TB, document string) *expr.Config {
	t.Helper()
	c, err := testCatalog(t).ParseConfig(document, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// latin1 makes the bytes that the vectors mean: one per character.
func latin1(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteByte(byte(r))
	}
	return b.String()
}

func lines(in []string) []string {
	out := make([]string, len(in))
	for i := range in {
		out[i] = latin1(in[i])
	}
	return out
}

// rejection is the part of an expectation that says why not.
type rejection struct {
	Ok        bool   `json:"ok"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	Reason    string `json:"reason"`
	Parameter string `json:"parameter"`
	Header    string `json:"header"`
}

// matches compares and also looks at the body that a client would get.
func (want rejection) matches(t *testing.T, got *expr.Rejection) {
	t.Helper()
	if got == nil {
		if !want.Ok {
			t.Errorf("accepted, want %+v", want)
		}
		return
	}
	have := rejection{
		Status: got.Code.Status(), Code: got.Code.String(), Reason: got.Reason.String(),
		Parameter: got.Parameter, Header: got.Header,
	}
	if have != want {
		t.Errorf("rejected with %+v, want %+v", have, want)
	}
	var body map[string]string
	if err := json.Unmarshal(got.AppendBody(nil), &body); err != nil {
		t.Fatalf("body %s: %v", got.AppendBody(nil), err)
	}
	if body["code"] != have.Code || body["reason"] != have.Reason || body["header"] != have.Header || body["error"] == "" {
		t.Errorf("body is %v", body)
	}
	if p := body["parameter"]; p != have.Parameter && p != have.Parameter[:64]+"..." {
		t.Errorf("body names parameter %q", p)
	}
}

type expressionCase struct {
	ID     string   `json:"id"`
	Config string   `json:"config"`
	Model  string   `json:"model"`
	Lines  []string `json:"lines"`
	Expect struct {
		rejection
		Canonical  string          `json:"canonical"`
		Algorithm  string          `json:"algorithm"`
		Definition string          `json:"definition"`
		Base       string          `json:"base"`
		Effective  json.RawMessage `json:"effective"`
	} `json:"expect"`
}

func TestExpressionVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.ExpressionCases {
			t.Run(c.ID, func(t *testing.T) {
				got, r := v.config(t, c.Config).Resolve(c.Model, lines(c.Lines)...)
				c.Expect.matches(t, r)
				if r != nil {
					return
				}
				definition := "static"
				if got.Dynamic {
					definition = "dynamic"
				}
				have := []string{got.Canonical, got.Settings.Algorithm(), definition, got.Base}
				want := []string{c.Expect.Canonical, c.Expect.Algorithm, c.Expect.Definition, c.Expect.Base}
				if strings.Join(have, " ") != strings.Join(want, " ") {
					t.Errorf("got %q, want %q", have, want)
				}
				if effective := got.Settings.AppendJSON(nil); !sameJSON(t, effective, c.Expect.Effective) {
					t.Errorf("effective settings are %s, want %s", effective, c.Expect.Effective)
				}
			})
		}
	})
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	texts := make([]string, 2)
	for i, in := range [][]byte{a, b} {
		var v map[string]any
		if err := json.Unmarshal(in, &v); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(out)
	}
	return texts[0] == texts[1]
}

type configCase struct {
	ID       string          `json:"id"`
	Document json.RawMessage `json:"document"`
	Expect   struct {
		Ok     bool   `json:"ok"`
		Path   string `json:"path"`
		Reason string `json:"reason"`
	} `json:"expect"`
}

func TestConfigVectors(t *testing.T) {
	pointers := strings.NewReplacer(".", "/", "[", "/", "]", "")
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.ConfigCases {
			t.Run(c.ID, func(t *testing.T) {
				_, err := testCatalog(t).ParseConfig(string(c.Document), "/routing")
				if c.Expect.Ok {
					if err != nil {
						t.Errorf("rejected with %v", err)
					}
					return
				}
				pointer := "/routing"
				if c.Expect.Path != "" {
					pointer += "/" + pointers.Replace(c.Expect.Path)
				}
				var faults expr.Faults
				errors.As(err, &faults)
				for _, f := range faults {
					if f.Pointer == pointer && f.Reason == c.Expect.Reason {
						return
					}
				}
				t.Errorf("faults are %v, want %s: %s", faults, pointer, c.Expect.Reason)
			})
		}
	})
}
