// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// A request goes where most of its prompt is cached, until the queue there
// costs more than computing the prompt elsewhere.
func Example() {
	placements, err := table.New(table.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := policy.NewPool(policy.Settings{BytesPerToken: 4}, policy.DefaultPrefixAware(), placements)
	pool.SetEndpoints([]load.Spec{
		{ID: "10.0.0.1:8000", Healthy: true, Rate: 8000, Capacity: 1 << 30},
		{ID: "10.0.0.2:8000", Healthy: true, Rate: 8000, Capacity: 1 << 30},
	})
	request := policy.Request{
		Now:    time.Second,
		Hashes: []uint64{11, 12, 13}, Ends: []uint32{8_000, 16_000, 24_000}, Length: 24_000,
		TagKnown: true, LengthKnown: true, HeadKnown: true, Key: 11, KeyKnown: true, Complete: true,
	}
	warm := pool.View().Find("10.0.0.2:8000")
	pool.Learn(warm, &request, 0)

	decision := pool.Pick(nil, &request)
	fmt.Println(decision.First().ID, decision.Match, "bytes cached")

	warm.SetOthers(load.Share{Queued: 80_000}) // ten seconds of other workers' prompts
	decision = pool.Pick(nil, &request)
	fmt.Println(decision.First().ID, decision.Match, "bytes cached")
	// Output:
	// 10.0.0.2:8000 24000 bytes cached
	// 10.0.0.1:8000 0 bytes cached
}
