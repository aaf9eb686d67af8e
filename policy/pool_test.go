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

// TestSetEndpointsInOneCall: who leaves is gone from placements, rendezvous
// hashing and load at once, and its index serves who joins, who holds nothing.
func TestSetEndpointsInOneCall(t *testing.T) {
	list := specs(4)
	p := newTestPool(t, Settings{}, DefaultPrefixAware(), list)
	r := handPrompt(1)
	gone := p.View().Find(list[2].ID)
	index := gone.Index
	p.Learn(gone, r, 0)
	if p.Pick(nil, r).First() != gone {
		t.Fatal("the warm endpoint isn't chosen")
	}
	joins := specs(5)[4]
	p.SetEndpoints([]load.Spec{list[0], list[1], list[3], joins})
	if gone.Listed() || gone.Index != load.None || len(p.nodes) != 4 || p.View().Find(gone.ID) != nil {
		t.Errorf("%s is still listed somewhere", gone.ID)
	}
	if got := p.View().Find(joins.ID); got.Index != index {
		t.Errorf("the free index %d is not used again: %d", index, got.Index)
	}
	if got := p.Pick(nil, r); got.Match != 0 {
		t.Errorf("%s inherits a match of %d", got.First().ID, got.Match)
	}
}

// TestMoreEndpointsThanTheTableTakes: those without a place in it are chosen
// too, without placements.
func TestMoreEndpointsThanTheTableTakes(t *testing.T) {
	forEach(t, func(t *testing.T, d Definition) {
		small, err := table.New(table.Config{Endpoints: 2})
		if err != nil {
			t.Fatal(err)
		}
		p := NewPool(Settings{}, d, small)
		p.SetEndpoints(specs(5))
		seen := map[string]bool{}
		for c := range uint64(200) {
			r := cold(c)
			got := p.Pick(nil, r)
			var f load.Flight
			p.Start(&f, got.First(), &got, r, true)
			p.Learn(got.First(), r, 0)
			f.End()
			seen[got.First().ID] = true
		}
		if len(seen) < 4 && d.Name() != DefaultPrefixAware().Name() || len(seen) < 2 {
			t.Errorf("%d of 5 endpoints were chosen", len(seen))
		}
	})
}

// TestGatewaysShareTheRoom: one of four gateways believes in a quarter of what
// an endpoint's cache holds.
func TestGatewaysShareTheRoom(t *testing.T) {
	for gateways, want := range map[int]int{1: 10_000, 4: 5000} {
		list := specs(1)
		list[0].Capacity = 20_000
		p := newTestPool(t, Settings{Gateways: gateways}, DefaultPrefixAware(), list)
		r := handPrompt(1)
		p.Learn(p.View().Endpoints()[0], r, 0)
		if got := p.Pick(nil, r).Match; got != want {
			t.Errorf("%d gateways: match %d of a cache of 20,000 bytes, want %d", gateways, got, want)
		}
	}
}
