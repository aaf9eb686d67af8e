// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte("vllm:num_requests_waiting{engine=\"1\",m=\"a \\\"quoted} name\"} 2.0 1712345678\nvllm:kv_cache_usage_perc NaN"), 3)
	f.Add([]byte("sglang:token_usage{tp_rank=\"0\"} 42\nsglang_num_queue_reqs{priority=\"\"} 1\n\n"), 1)
	f.Add([]byte("nv_trt_llm_request_metrics{request_type=\"max\"} 512\r\nmy_metric{a=\"b\"} 1 # {} 2"), 9)
	if files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "data", "metrics", "*.txt")); err == nil {
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && len(b) < 2000 {
				f.Add(b, 100)
			}
		}
	}
	custom := Custom{Field: Waiting, Name: "my_metric", Label: "a", Value: "b"}
	whole, split := newParser(f, custom), newParser(f, custom)
	f.Fuzz(func(t *testing.T, page []byte, window int) {
		want := parse(whole, page, len(page)+1)
		got := parse(split, page, 1+int(uint(window)%300))
		if string(got.Adapters) != string(want.Adapters) {
			t.Fatalf("split changes the adapters: %q, whole %q", got.Adapters, want.Adapters)
		}
		got.Adapters, want.Adapters = nil, nil
		if !same(got, want) {
			t.Fatalf("split changes the result: %+v, whole %+v", got, want)
		}
		for f := range Adapters {
			if v, _ := got.Value(f); v < 0 || v != v || f.ratio() && v > 1 {
				t.Fatalf("%v = %v", f, v)
			}
		}
	})
}

// same compares results without adapters.
func same(a, b Result) bool {
	return a.Engine == b.Engine && a.known == b.known && a.fields == b.fields && a.MaxAdapters == b.MaxAdapters &&
		a.Lines == b.Lines && a.Unusable == b.Unusable && a.Overlong == b.Overlong && a.Dropped == b.Dropped
}
