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

func TestJSONHasItsKeys(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, strings.Fields("-heads 3 -engines 2 -gateways 2 -load-age 1s -speed 0.2 -json")); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"mean_first_token_seconds", "p99_first_token_seconds", "hit_ratio", "imbalance"} {
		if v, ok := got[key].(float64); !ok || v <= 0 {
			t.Errorf("%s is %v", key, got[key])
		}
	}
}

func TestTraceFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.jsonl")
	lines := `{"timestamp": 0, "input_length": 1000, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 3000, "input_length": 1500, "output_length": 5, "hash_ids": [0, 1, 2]}
`
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(&out, []string{"-trace", name, "-algorithm", "least-load"}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "least-load") {
		t.Errorf("output %q", out.String())
	}
}

func TestFaultsAreReported(t *testing.T) {
	for _, args := range []string{
		"-trace nosuch", "-heads 1 -algorithm nosuch", "-heads 1 -off nosuch", "-heads 1 -speed 0", "-heads 1 -engines 0", "-nosuch",
	} {
		if err := run(&bytes.Buffer{}, strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
