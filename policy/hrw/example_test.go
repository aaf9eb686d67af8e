// SPDX-License-Identifier: Apache-2.0

package hrw_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/policy/hrw"
)

func Example() {
	var nodes []hrw.Node
	for _, engine := range []struct {
		address  string
		capacity float64 // tokens of KV cache
	}{{"10.0.0.1:8000", 401_200}, {"10.0.0.2:8000", 399_900}, {"10.0.0.3:8000", 1_650_000}} {
		nodes = append(nodes, hrw.Node{Seed: hrw.Seed(engine.address), Weight: hrw.Weight(engine.capacity)})
	}
	const conversation = 0x5eed
	fmt.Println("primary:", hrw.First(conversation, nodes))
	fmt.Println("in order:", hrw.Rank(nil, conversation, nodes, 3))
	// Output:
	// primary: 2
	// in order: [2 0 1]
}
