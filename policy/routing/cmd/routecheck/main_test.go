// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const document = `{"pools": [], "routing": {
	"default": {"algorithm": "pulsar", "consider_kv_free_tokens": true, "require_cache_affinity_key": true},
	"models": {"m": {"algorithm": "power-of-n", "sample_count": 1, "comparator": "queue-time"}}
}}`

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		in   string
		code int
		want string
	}{
		{
			"accepted", []string{file, `PULSAR; seed="a"`}, "", accepted,
			`{"canonical":"pulsar;seed=a","algorithm":"pulsar","definition":"dynamic","base":"default",
			"effective":{"consider_kv_free_tokens":true,"max_input_work_seconds":null,"require_cache_affinity_key":true,"require_input_tokens":false,"seed":"a"},
			"requires":["x-cache-affinity-key","x-input-tokens"],
			"warnings":[{"pointer":"/routing/models/m/comparator","reason":"inert","detail":"has no effect while sample_count is 1"}]}`,
		},
		{
			"without a header", []string{"-model", "m", "-"}, document, accepted,
			`{"algorithm":"power-of-n","definition":"static","base":"models/m",
			"effective":{"comparator":"queue-time","max_input_work_seconds":null,"require_cache_affinity_key":false,"require_input_tokens":false,"sample_count":1},
			"warnings":[{"pointer":"/routing/models/m/comparator","reason":"inert","detail":"has no effect while sample_count is 1"}]}`,
		},
		{
			"malformed, under a routing section alone", []string{"-", "pulsar;seed"}, `{"default":"pulsar"}`, rejected,
			`{"status":400,"x-routing-error":"malformed_expression","offset":11,
			"body":{"error":"write seed=true or seed=false","code":"malformed_expression","reason":"native_boolean","parameter":"seed"}}`,
		},
		{
			"not enabled", []string{"-", "random"}, `{}`, rejected,
			`{"status":400,"x-routing-error":"method_not_allowed",
			"body":{"error":"routing method random is not enabled for this model","code":"method_not_allowed"}}`,
		},
		{
			"faulty configuration", []string{"-", "random"}, `{"routing":{"defualt":"random","models":{"m":7}}}`, faulty,
			`{"faults":[
			{"pointer":"/routing/defualt","reason":"unknown_field","detail":"no such field; fields are default request_algorithms models request_parameters strict require_model model_header session_headers max_waiting max_ring_points"},
			{"pointer":"/routing/models/m","reason":"wrong_type","detail":"must be an algorithm's name or an object"}]}`,
		},
		{
			"no routing section", []string{"-", "random"}, `{"pools":[]}`, faulty,
			`{"faults":[{"pointer":"/routing","reason":"missing","detail":"the configuration has no routing section: expressions are off"}]}`,
		},
		{"no argument", nil, "", faulty, ""},
		{"too many arguments", []string{"-", "a", "b"}, "", faulty, ""},
		{"unknown flag", []string{"-x"}, "", faulty, ""},
		{"file that isn't there", []string{filepath.Join(t.TempDir(), "no")}, "", faulty, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, complaints bytes.Buffer
			if code := run(c.args, strings.NewReader(c.in), &out, &complaints); code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, complaints.String())
			}
			if c.want == "" {
				if out.Len() > 0 || complaints.Len() == 0 {
					t.Errorf("output %q, complaints %q", out.String(), complaints.String())
				}
				return
			}
			if got := compact(t, out.Bytes()); got != compact(t, []byte(c.want)) {
				t.Errorf("output %s\nwant %s", got, compact(t, []byte(c.want)))
			}
		})
	}
}

// compact brings JSON into one spelling.
func compact(t *testing.T, in []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(in, &v); err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
