// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/policy/load/metrics"
)

func Example() {
	p, err := metrics.New(nil)
	if err != nil {
		panic(err)
	}
	// Two data-parallel engines; the page comes in two windows.
	p.Write([]byte("vllm:num_requests_waiting{engine=\"0\"} 3.0\nvllm:num_requests_wai"))
	p.Write([]byte("ting{engine=\"1\"} 4.0\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.5\n"))
	p.Close()

	r := p.Result()
	waiting, _ := r.Value(metrics.Waiting)
	use, _ := r.Value(metrics.KVUse)
	fmt.Println(r.Engine, waiting, use, r.Known(metrics.Running))
	// Output: vllm 7 0.5 false
}
