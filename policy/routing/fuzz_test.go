// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/expr"
)

// document writes settings as a configuration would.
func document(s *expr.Settings) string {
	b := strings.Builder{}
	b.WriteString(`{"default":{"algorithm":"` + s.Algorithm() + `"`)
	s.Each(func(p *expr.Parameter, v expr.Value) {
		if !v.IsSet() {
			return
		}
		b.WriteString(`,"` + p.Name + `":`)
		switch p.Type {
		case expr.Uint:
			b.WriteString(strconv.FormatUint(v.Uint(), 10))
		case expr.Number:
			b.WriteString(strconv.FormatFloat(v.Number(), 'g', -1, 64))
		case expr.Bool:
			b.WriteString(strconv.FormatBool(v.Bool()))
		case expr.Enum:
			b.WriteString(`"` + p.Members[v.Uint()] + `"`)
		case expr.String:
			b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v.Text()) + `"`)
		}
	})
	b.WriteString("}}")
	return b.String()
}

// FuzzOverlay holds that no expression comes to a definition that the
// configuration would refuse, and that both read the same.
func FuzzOverlay(f *testing.F) {
	for _, e := range expressions {
		f.Add(e)
	}
	for _, e := range generated(200) {
		f.Add(e)
	}
	catalog, config := testCatalog(f), parsed(f, everything)
	f.Fuzz(func(t *testing.T, value string) {
		got, r := config.Resolve("m", value)
		if r != nil {
			return
		}
		static, err := catalog.ParseConfig(document(&got.Settings), "")
		if err != nil {
			t.Fatalf("%q comes to %s, which is refused: %v", value, document(&got.Settings), err)
		}
		again := static.Default().Settings()
		if a, b := string(got.Settings.AppendJSON(nil)), string(again.AppendJSON(nil)); a != b {
			t.Errorf("%q comes to %s, its document to %s", value, a, b)
		}
	})
}

// generated makes expressions from pieces of which most fit together.
func generated(n int) []string {
	rng := rand.New(rand.NewPCG(1, 1))
	methods := []string{"pulsar", "Power_Of_Two", "wait-and-widen", "pulsar-multiregion", "random", "prefix-aware", "topology", "least-load", "nobody", "a\x01", ""}
	keys := []string{"seed", "n", "sample_count", "comparator", "max_queued", "fallbacks", "tie_band_ms", "token_price",
		"cache_affinity_backend_selection_count", "max_queue_time_floor_ms", "max_queue_time_ceil_ms", "require_input_tokens", "nonsense"}
	values := []string{"1", "2", "64", "0.5", "a", `"a b"`, "true", "ttft", `"18446744073709551615"`, "-1", "?1", `"`, ""}
	pick := func(from []string) string { return from[rng.IntN(len(from))] }
	out := make([]string, n)
	for i := range out {
		out[i] = pick(methods)
		for range rng.IntN(4) {
			out[i] += ";" + pick(keys) + "=" + pick(values)
		}
	}
	return out
}

// TestLabelsAreClosed sends 10,000 expressions and collects what metrics would
// be labelled with.
func TestLabelsAreClosed(t *testing.T) {
	codes, methods := map[string]bool{}, map[string]bool{"unknown": true}
	expr.Codes(func(c expr.Code) { codes[c.String()] = true })
	testCatalog(t).Algorithms(func(name string) { methods[name] = true })
	router := testRouter(t, everything)
	seen := map[string]int{}
	for i, value := range generated(10_000) {
		c, r := router.Resolve(expr.Query{Model: "m" + strconv.Itoa(i%50), Value: value, Lines: 1}, 0)
		label := c.Algorithm
		if r != nil {
			label = r.Algorithm()
			if !codes[r.Code.String()] {
				t.Errorf("%q: code %q", value, r.Code)
			}
			seen[r.Code.String()]++
		} else {
			router.Settle(&c, i%3, 0)
			seen[c.Result.String()]++
		}
		if !methods[label] {
			t.Errorf("%q: method %q", value, label)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %v came up", seen)
	}
}
