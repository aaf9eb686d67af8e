// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestConfigReadsEveryField(t *testing.T) {
	c, faults := parseConfig([]byte(`{
		"pools": [{"cluster": "a", "algorithm": "topology", "kv_tokens": 1000, "endpoints": [
			"10.0.0.1:80", "[2001:db8::1]:8000", "envoy://connect_originate/10.0.0.2:80",
			{"address": "10.0.0.3:80", "capacity": 2.5, "kv_tokens": 5, "prefill_tokens_per_second": 9000, "zone": "z"}]}],
		"mode": "observe", "percent": 7, "body": "on", "gateways": 3, "hash_seed": 42, "readers": 9, "decision_header": true, "scope": "blue",
		"wait": {"bytes": 1000, "milliseconds": 20, "silent_ticks": 4},
		"prompt": {"max_bytes": 8192, "billing_line": true, "paths": {"/x/answer": "chat"}},
		"table": {"bytes": 1048576, "endpoints": 16}}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	p := c.pools[0]
	if p.cluster != "a" || p.algorithm != "topology" || len(p.endpoints) != 4 || p.endpoints[0].kvTokens != 1000 {
		t.Errorf("pool = %+v", p)
	}
	if want := (endpointConfig{"10.0.0.3:80", 2.5, 5, 9000, "z"}); p.endpoints[3] != want {
		t.Errorf("endpoint = %+v, want %+v", p.endpoints[3], want)
	}
	if c.mode != observe || c.percent != 7 || c.body != bodyOn || c.gateways != 3 || c.seed != 42 || c.readers != 9 || !c.receipt || c.scope != "blue" {
		t.Errorf("config = %+v", c)
	}
	if want := (waitConfig{1000, 20 * time.Millisecond, 4}); c.wait != want {
		t.Errorf("wait = %+v, want %+v", c.wait, want)
	}
	if !c.prompt.billing || c.prompt.maxBytes != 8192 || len(c.prompt.paths) != 1 {
		t.Errorf("prompt = %+v", c.prompt)
	}
	if want := (tableConfig{1 << 20, 16}); c.table != want {
		t.Errorf("table = %+v, want %+v", c.table, want)
	}
}

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	_, faults := parseConfig([]byte(`{
		"pools": [{"cluster": "", "endpoint": [], "endpoints": ["here", "10.0.0.1:80", "10.0.0.1:80", {"zone": 5}]},
			{"cluster": "b", "endpoints": {}, "algorithm": "best"}, {"cluster": "b", "endpoints": []}, 7],
		"mode": "off", "percent": 101, "percent": 3, "body": null, "gateways": 2,
		"wait": {"milliseconds": 1.5, "a/b~c": 1},
		"prompt": {"paths": {"x": "chat", "/y": "poem"}},
		"table": []}`))
	var got []string
	for _, f := range faults {
		got = append(got, f.pointer)
	}
	slices.Sort(got)
	want := []string{
		"/body", "/hash_seed", "/mode", "/percent", "/percent",
		"/pools/0/cluster", "/pools/0/endpoint", "/pools/0/endpoints/0", "/pools/0/endpoints/2",
		"/pools/0/endpoints/3/address", "/pools/0/endpoints/3/zone",
		"/pools/1/algorithm", "/pools/1/endpoints", "/pools/2/cluster", "/pools/2/endpoints", "/pools/3",
		"/prompt/paths/x", "/prompt/paths/~1y", "/table", "/wait/a~1b~0c", "/wait/milliseconds",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults at\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPoolsTakeOwnAlgorithms: those of expressions alone are refused, and the
// fault says which there are.
func TestPoolsTakeOwnAlgorithms(t *testing.T) {
	_, faults := parseConfig([]byte(`{"pools":[{"cluster":"a","algorithm":"pulsar","endpoints":["10.0.0.1:80"]}]}`))
	want := []fault{{"/pools/0/algorithm", "must be one of prefix-aware topology least-load round-robin random"}}
	if !slices.Equal(faults, want) {
		t.Errorf("faults %v, want %v", faults, want)
	}
}

func TestConfigThatIsNoObject(t *testing.T) {
	for _, text := range []string{"", "[]", "null", "{", `{"pools":[]} x`, `{}`} {
		if _, faults := parseConfig([]byte(text)); len(faults) == 0 {
			t.Errorf("parseConfig(%q) found no fault", text)
		}
	}
}

// TestConfigNeedsAPool: a list without pools would turn kvsteer off unseen.
func TestConfigNeedsAPool(t *testing.T) {
	for _, text := range []string{`{"pools":[]}`, `{"pools":[],"collector":{"admin_cluster":"admin"}}`} {
		_, faults := parseConfig([]byte(text))
		if want := []fault{{"/pools", "needs a pool"}}; !slices.Equal(faults, want) {
			t.Errorf("%s: faults %v, want %v", text, faults, want)
		}
	}
}

// FuzzConfig: no text makes the parser panic, and one without faults is within
// the stated ranges.
func FuzzConfig(f *testing.F) {
	f.Add(fourEndpoints)
	f.Add(withPools(`"wait":{"bytes":1},"prompt":{"paths":{"/x":"chat"}}`))
	f.Add(`{"pools":[{"cluster":"a","endpoints":[{"address":"10.0.0.1:80","capacity":1e-3}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, faults := parseConfig([]byte(text))
		if len(faults) > 0 {
			return
		}
		if c.percent < 0 || c.percent > 100 || c.wait.bytes < 1 || c.readers < 1 || c.table.endpoints < 1 {
			t.Errorf("parseConfig(%q) = %+v", text, c)
		}
	})
}
