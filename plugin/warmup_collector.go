// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy/load/clusters"
	enginemetrics "github.com/kvsteer/kvsteer/policy/load/metrics"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

// warmUpCollector sends a host list, a metrics page and a snapshot through what
// reads them, over a fleet and a pool of their own: a worker that takes the
// collector's work over is not to compile it between two requests.
func (v *vm) warmUpCollector() {
	fleet := &fleet{poolConfig: poolConfig{cluster: "warm"}}
	p := &pool{Pool: warmUpPool(), vm: v}
	list, err := clusters.New(clusters.Config{Clusters: []string{fleet.cluster}}, func(h *clusters.Host) { fleet.list(h, "b") })
	if err != nil {
		return
	}
	pages, err := enginemetrics.New(nil)
	if err != nil {
		return
	}
	var w follower
	for i := range 3 {
		now := time.Duration(i+1) * time.Second
		list.Reset()
		_ = list.Write([]byte(warmUpHosts)) // the sample is well-formed
		_ = list.Close()
		fleet.commit(now)
		pages.Reset()
		pages.Write([]byte(warmUpPage))
		pages.Close()
		result := pages.Result()
		for _, e := range fleet.engines {
			e.plan(now, time.Second)
			e.life.restarted(&result)
			e.take(&result, now)
		}
		h := snapshot.Header{Pool: []byte(fleet.cluster), Sequence: uint64(i)}
		message := snapshot.Append(nil, h, now, fleet.snapshot())
		if w.reader.Open(message) == nil {
			w.apply(p, now, v)
		}
	}
}

const warmUpHosts = `{"cluster_statuses":[{"name":"other","host_statuses":[{}]},{"name":"warm","added_via_api":true,"host_statuses":[` +
	`{"address":{"socket_address":{"address":"192.0.2.1","port_value":80}},"stats":[{"name":"rq_active","type":"GAUGE","value":"3"}],` +
	`"health_status":{"failed_outlier_check":true,"eds_health_status":"HEALTHY"},"weight":1,"hostname":"a","locality":{"zone":"a"}},` +
	`{"address":{"socket_address":{"address":"192.0.2.2","port_value":80}},"health_status":{"eds_health_status":"HEALTHY"},"weight":2}]}]}`

const warmUpPage = "# HELP vllm:num_requests_running r\n# TYPE vllm:num_requests_running gauge\n" +
	"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\nvllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 1e+01\n" +
	"vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\"} 1.0\n" +
	"vllm:prompt_tokens_total{engine=\"0\"} 12345\nprocess_start_time_seconds 1.75e+09\nvllm:e2e_request_latency_seconds_bucket{le=\"0.5\"} 7\n"
