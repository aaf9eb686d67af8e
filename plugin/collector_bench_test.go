// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

// benchSite is a VM whose collector works for a fleet.
func benchSite(b *testing.B, engines int) (*native, *fakeHost, *collector) {
	b.Helper()
	h := newFakeHost(collected)
	n := newNative(h)
	if !n.start(root) {
		b.Fatal(h.logs)
	}
	n.create(2, root)
	h.clock += time.Second
	n.tick(root)
	c := n.vm.standby
	for i := range engines {
		c.fleets[0].listed = append(c.fleets[0].listed, listing{address: fmt.Sprintf("10.0.%d.%d:8000", i/250, i%250), weight: 1})
	}
	c.fleets[0].commit(c.time())
	return n, h, c
}

// BenchmarkSnapshot is what a worker does with a snapshot in which every
// engine's load has changed.
func BenchmarkSnapshot(b *testing.B) {
	for _, engines := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("endpoints=%d", engines), func(b *testing.B) {
			n, _, c := benchSite(b, engines)
			f := n.roots[root].(*filter)
			now := c.time()
			var messages [2][]byte
			for i := range messages {
				for _, e := range c.fleets[0].engines {
					e.stats = load.Stats{At: now + time.Duration(i), Waiting: 3, Running: 20, KVUse: 0.5, KVCapacity: 400_000}
				}
				h := snapshot.Header{Pool: []byte("engines"), Taken: int64(c.epoch + now)}
				messages[i] = snapshot.Append(nil, h, now+time.Duration(i), c.fleets[0].snapshot())
			}
			b.ReportMetric(float64(len(messages[0])), "bytes")
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				for _, e := range f.pools[0].View().Endpoints() {
					e.Stats.At = 0
				}
				f.take(messages[i%2])
			}
		})
	}
}

// BenchmarkScrape is the reading of one metrics page of 60 KB, as vLLM's is
// with its histograms.
func BenchmarkScrape(b *testing.B) {
	_, h, c := benchSite(b, 100)
	page := metricsPage(60 << 10)
	h.page = &fakeStream{response: [][2]string{{":status", "200"}}, chunk: page}
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		c.takePage(c.fleets[0], c.fleets[0].engines[0], len(page))
	}
}

// metricsPage is a page of about so many bytes, mostly of histograms.
func metricsPage(size int) []byte {
	var p strings.Builder
	p.WriteString("vllm:num_requests_waiting{model_name=\"m\"} 3\nvllm:num_requests_running{model_name=\"m\"} 20\n" +
		"vllm:kv_cache_usage_perc{model_name=\"m\"} 0.5\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"25000\"} 1\n")
	for i := 0; p.Len() < size; i++ {
		fmt.Fprintf(&p, "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"%d.0\",model_name=\"meta-llama/Llama-3.1-70B\"} %d.0\n", i, i*i)
	}
	return []byte(p.String())
}

// BenchmarkHostList is the reading of Envoy's page on a gateway of 1,000
// clusters of two hosts each, all of which Envoy before 1.40 sends.
func BenchmarkHostList(b *testing.B) {
	_, h, c := benchSite(b, 4)
	var p strings.Builder
	p.WriteString(`{"cluster_statuses":[`)
	for i := range 1000 {
		name := fmt.Sprintf("outbound|80||service-%d.ns.svc.cluster.local", i)
		if i == 999 {
			name = "engines"
		}
		fmt.Fprintf(&p, `{"name":%q,"added_via_api":true,"host_statuses":[%s,%s]},`, name, adminHost(i, 1), adminHost(i, 2))
	}
	page := []byte(strings.TrimSuffix(p.String(), ",") + "]}")
	h.page = &fakeStream{response: [][2]string{{":status", "200"}}, chunk: page}
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if !c.readHosts(len(page)) {
			b.Fatal("the page was refused")
		}
	}
}

// adminHost is a host as Envoy 1.40 writes it.
func adminHost(i, j int) string {
	var stats strings.Builder
	for _, name := range []string{"cx_connect_fail", "cx_total", "rq_error", "rq_success", "rq_timeout", "rq_total"} {
		fmt.Fprintf(&stats, `{"name":%q,"value":"%d"},`, name, i)
	}
	return fmt.Sprintf(`{"address":{"socket_address":{"address":"10.%d.%d.%d","port_value":8000}},"stats":[%s{"name":"cx_active","type":"GAUGE"}],`+
		`"health_status":{"eds_health_status":"HEALTHY"},"weight":1,"hostname":"","locality":{"region":"eu","zone":"eu-a"}}`,
		i/250, i%250, j, stats.String())
}
