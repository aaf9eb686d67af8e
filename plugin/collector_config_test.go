// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	enginemetrics "github.com/kvsteer/kvsteer/policy/load/metrics"
)

func TestCollectorSectionReadsEveryField(t *testing.T) {
	c, faults := parseConfig([]byte(`{"pools":[{"cluster":"a"}],"collector":{
		"document":{"cluster":"registry","path":"/e.json","authority":"registry.local"},
		"period_milliseconds":500,"idle_period_milliseconds":9000,"timeout_milliseconds":300,"in_flight":3,
		"max_list_bytes":100000,"waiting_limit":7,"endpoint_gauges":5,
		"metrics":{"enabled":false,"path":"/m","cluster":"side","port":9,"authority":"x",
			"names":[{"field":"waiting","name":"my_queue","label":"kind","value":"llm"},{"field":"kv_use","name":"my_cache","percent":true}]}}}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := collectorConfig{
		enabled: true, hosts: page{"registry", "/e.json", "registry.local"},
		period: 500 * time.Millisecond, idlePeriod: 9 * time.Second, timeout: 300 * time.Millisecond,
		inFlight: 3, maxBytes: 100000, waitingLimit: 7, gauges: 5,
		metrics: metricsConfig{
			page: page{cluster: "side", path: "/m", authority: "x"}, port: 9,
			custom: []enginemetrics.Custom{
				{Field: enginemetrics.Waiting, Name: "my_queue", Label: "kind", Value: "llm"},
				{Field: enginemetrics.KVUse, Name: "my_cache", Percent: true},
			},
		},
	}
	if !reflect.DeepEqual(c.collector, want) {
		t.Errorf("collector = %+v, want %+v", c.collector, want)
	}
}

func TestCollectorFaults(t *testing.T) {
	for _, c := range []struct{ name, collector, want string }{
		{"nothing tells the endpoints", `{}`, "/pools/0/endpoints"},
		{"two host lists", `{"admin_cluster":"a","document":{"cluster":"b","path":"/"}}`, "/collector/document"},
		{"document without a place", `{"document":{}}`, "/collector/document/cluster /collector/document/path /pools/0/endpoints"},
		{"relative path", `{"admin_cluster":"a","metrics":{"path":"metrics"}}`, "/collector/metrics/path"},
		{"port without a cluster", `{"admin_cluster":"a","metrics":{"port":9000}}`, "/collector/metrics/port"},
		{"numbers out of range", `{"admin_cluster":"a","period_milliseconds":1,"in_flight":0,"waiting_limit":-1}`,
			"/collector/in_flight /collector/period_milliseconds /collector/waiting_limit"},
		{"names that are none", `{"admin_cluster":"a","metrics":{"names":[{"field":"waiting","name":"a b"},{"field":"mood","name":"m"},{}]}}`,
			"/collector/metrics/names/0 /collector/metrics/names/1/field /collector/metrics/names/2 /collector/metrics/names/2/field /collector/metrics/names/2/name"},
		{"unknown field", `{"admin_cluster":"a","scrape":true}`, "/collector/scrape"},
	} {
		_, faults := parseConfig([]byte(`{"pools":[{"cluster":"engines"}],"collector":` + c.collector + `}`))
		var at []string
		for _, f := range faults {
			at = append(at, f.pointer)
		}
		slices.Sort(at)
		if got := strings.Join(at, " "); got != c.want {
			t.Errorf("%s: faults at %s, want %s", c.name, got, c.want)
		}
	}
}
