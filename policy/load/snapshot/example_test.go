// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"fmt"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

func Example() {
	// The collector has been up for an hour and read the engine two seconds ago.
	b := snapshot.Append(nil, snapshot.Header{Pool: []byte("engines"), Sequence: 1}, time.Hour, []snapshot.Entry{{
		ID:    []byte("10.0.0.1:8000"),
		Spec:  load.Spec{Healthy: true},
		Stats: load.Stats{At: time.Hour - 2*time.Second, Waiting: 3},
	}})

	// The worker has been up for a minute.
	var r snapshot.Reader
	if err := r.Open(b); err != nil {
		panic(err)
	}
	var e snapshot.Entry
	for r.Next(&e, time.Minute) {
		fmt.Printf("%s %s: %v waiting at %v\n", r.Header().Pool, e.ID, e.Stats.Waiting, e.Stats.At)
	}
	// Output: engines 10.0.0.1:8000: 3 waiting at 58s
}
