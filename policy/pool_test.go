// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"testing"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// specs are n healthy endpoints.
func specs(n int) []load.Spec {
	var out []load.Spec
	for i := range n {
		out = append(out, load.Spec{ID: fmt.Sprintf("10.0.%d.%d:8000", i/200, i%200), Healthy: true, Capacity: 4 << 20})
	}
	return out
}

func newTestPool(tb testing.TB, s Settings, d Definition, list []load.Spec) *Pool {
	tb.Helper()
	t, err := table.New(table.Config{Endpoints: table.MaxEndpoints})
	if err != nil {
		tb.Fatal(err)
	}
	p := NewPool(s, d, t)
	p.SetEndpoints(list)
	return p
}
