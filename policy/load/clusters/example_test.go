// SPDX-License-Identifier: Apache-2.0

package clusters_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/policy/load/clusters"
)

func Example() {
	document := `{"endpoints": [
	  {"address": "10.0.0.1:8000", "zone": "eu-a"},
	  {"address": "10.0.0.2:8000", "zone": "eu-b", "health": "draining"}
	]}`
	p, err := clusters.New(clusters.Config{Clusters: []string{"engines"}}, func(h *clusters.Host) {
		fmt.Printf("%s %s %v\n", h.Address, h.Zone, h.Health.Usable())
	})
	if err != nil {
		panic(err)
	}
	p.Write([]byte(document))
	fmt.Println(p.Close())
	// Output:
	// 10.0.0.1:8000 eu-a true
	// 10.0.0.2:8000 eu-b false
	// <nil>
}
