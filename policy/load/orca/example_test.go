// SPDX-License-Identifier: Apache-2.0

package orca_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/policy/load/orca"
)

func Example() {
	p, err := orca.New()
	if err != nil {
		panic(err)
	}
	p.Reset() // for each response
	p.Add(orca.Header, []byte("TEXT named_metrics.kv_cache_usage_perc=0.42, named_metrics.num_requests_waiting=5"))
	r, err := p.Report()
	waiting, known := r.Value(orca.Waiting)
	fmt.Println(waiting, known, err)
	// Output: 5 true <nil>
}
