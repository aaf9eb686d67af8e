// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// forEach runs a test for every algorithm: what holds for all of them is here.
func forEach(t *testing.T, test func(t *testing.T, d Definition)) {
	for _, d := range Definitions() {
		t.Run(d.Name(), func(t *testing.T) { test(t, d) })
	}
}

// cold is a first turn of a conversation that nobody holds.
func cold(conversation uint64) *Request {
	r := benchRequest(conversation + 1<<40)
	for k := range r.Hashes {
		r.Hashes[k] += conversation << 20
	}
	r.Head, r.HeadHash, r.Prev = 0, 0, 0
	return r
}

func TestPickWithoutEndpoints(t *testing.T) {
	forEach(t, func(t *testing.T, d Definition) {
		p := newTestPool(t, Settings{}, d, nil)
		if got := p.Pick(nil, cold(1)); got.N != 0 || got.First() != nil {
			t.Errorf("Pick from an empty pool = %+v", got)
		}
		if got, _ := p.Early(nil, cold(1)); got.N != 0 || got.First() != nil {
			t.Errorf("Early from an empty pool = %+v", got)
		}
	})
}

func TestPickListsDifferentEndpoints(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 1024} {
		forEach(t, func(t *testing.T, d Definition) {
			p := newTestPool(t, Settings{Gateways: 2}, d, specs(n))
			for c := range uint64(20) {
				got := p.Pick(nil, cold(c))
				if want := min(n, MaxChoices); got.N != want {
					t.Fatalf("%d endpoints: list of %d, want %d", n, got.N, want)
				}
				list := got.Endpoints[:got.N]
				for i, e := range list {
					if e == nil || slices.Contains(list[:i], e) {
						t.Fatalf("%d endpoints: place %d is empty or named before", n, i)
					}
				}
			}
		})
	}
}

// TestPickAvoids: who is unhealthy, draining, excluded or has an open circuit
// is in no place of any list.
func TestPickAvoids(t *testing.T) {
	forEach(t, func(t *testing.T, d Definition) {
		list := specs(7)
		list[1].Healthy = false
		list[2].Draining = true
		p := newTestPool(t, Settings{}, d, list)
		now := time.Minute
		for range 5 {
			p.View().Find(list[3].ID).Fail(now)
		}
		excluded := p.View().Find(list[4].ID)
		for c := range uint64(200) {
			r := cold(c)
			r.Now = now
			r.Excluded = []int{excluded.Index}
			got := p.Pick(nil, r)
			if got.N != MaxChoices {
				t.Fatalf("list of %d, want the %d that are left", got.N, MaxChoices)
			}
			for _, e := range got.Endpoints {
				if slices.Contains([]string{list[1].ID, list[2].ID, list[3].ID, list[4].ID}, e.ID) {
					t.Fatalf("chose %s", e.ID)
				}
			}
		}
	})
}

func TestPickRepeatsForOneSeed(t *testing.T) {
	forEach(t, func(t *testing.T, d Definition) {
		a := benchPool(t, 16, 1, d)
		b := benchPool(t, 16, 1, d)
		for c := range uint64(100) {
			x, y := a.Pick(nil, benchRequest(c)), b.Pick(nil, benchRequest(c))
			for i := range x.N {
				if x.Endpoints[i].ID != y.Endpoints[i].ID {
					t.Fatalf("request %d, place %d: %s and %s", c, i, x.Endpoints[i].ID, y.Endpoints[i].ID)
				}
			}
		}
	})
}

// TestPickStaysWhenAnotherLeaves: an endpoint that leaves takes only its own
// conversations along.
func TestPickStaysWhenAnotherLeaves(t *testing.T) {
	for _, d := range []Definition{DefaultPrefixAware(), DefaultTopology(), LeastLoad{}} {
		t.Run(d.Name(), func(t *testing.T) {
			list := specs(9)
			p := newTestPool(t, Settings{}, d, list)
			before := map[uint64]string{}
			for c := range uint64(500) {
				before[c] = p.Pick(nil, cold(c)).First().ID
			}
			gone := list[4].ID
			p.SetEndpoints(append(slices.Clone(list[:4]), list[5:]...))
			moved := 0
			for c := range uint64(500) {
				after := p.Pick(nil, cold(c)).First().ID
				switch {
				case after == gone:
					t.Fatal("chose the endpoint that left")
				case before[c] == gone:
					moved++
				case after != before[c]:
					t.Fatalf("conversation %d moved from %s to %s", c, before[c], after)
				}
			}
			if moved == 0 {
				t.Error("the endpoint that left had no conversations: nothing was shown")
			}
		})
	}
}

// TestJoiningMovesItsShare: one more endpoint takes at most 1.2/n of the
// conversations, and moves none between the others.
func TestJoiningMovesItsShare(t *testing.T) {
	for _, d := range []Definition{DefaultPrefixAware(), DefaultTopology()} {
		t.Run(d.Name(), func(t *testing.T) {
			const conversations = 4000
			list := specs(10)
			// Two pools, so that topology has no owners to keep to.
			small := newTestPool(t, Settings{}, d, list[:9])
			large := newTestPool(t, Settings{}, d, list)
			moved := 0
			for c := range uint64(conversations) {
				a, b := small.Pick(nil, cold(c)).First().ID, large.Pick(nil, cold(c)).First().ID
				if a == b {
					continue
				}
				moved++
				if b != list[9].ID {
					t.Fatalf("conversation %d moved from %s to %s", c, a, b)
				}
			}
			if limit := conversations * 12 / 100; moved > limit {
				t.Errorf("%d of %d conversations moved, want at most %d", moved, conversations, limit)
			}
			t.Logf("%d of %d moved, the fair share is %d", moved, conversations, conversations/10)
		})
	}
}

// TestIdleFleetSpreadsAsRendezvousDoes: differences of one percent between
// rates are noise, and must not draw all cold conversations to one endpoint.
func TestIdleFleetSpreadsAsRendezvousDoes(t *testing.T) {
	for _, d := range []Definition{DefaultPrefixAware(), DefaultTopology(), LeastLoad{}} {
		t.Run(d.Name(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 1))
			list := specs(8)
			var nodes []hrw.Node
			for i := range list {
				list[i].Rate = 8000 * (0.99 + 0.02*random.Float64())
				nodes = append(nodes, hrw.Node{Seed: hrw.Seed(list[i].ID), Weight: hrw.Weight(1)})
			}
			p := newTestPool(t, Settings{}, d, list)
			for c := range uint64(1000) {
				r := cold(c)
				if got, want := p.Pick(nil, r).First().ID, list[hrw.First(r.Key, nodes)].ID; got != want {
					t.Fatalf("conversation %d went to %s, rendezvous hashing says %s", c, got, want)
				}
			}
		})
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	forEach(t, func(t *testing.T, d Definition) {
		p := benchPool(t, 256, 4, d)
		r := benchRequest(3)
		var f load.Flight
		step := time.Duration(0)
		if n := testing.AllocsPerRun(200, func() {
			step += time.Second // ages are refreshed too
			r.Now = time.Minute + step
			p.Early(nil, r)
			got := p.Pick(nil, r)
			p.Start(&f, got.First(), &got, r, true)
			f.First(r.Now)
			p.Learn(got.First(), r, 100)
			p.Observe(got.First(), &got, r, Usage{PromptTokens: 4000, CachedTokens: 1000, CachedKnown: true})
			f.End()
			p.View().Tick(r.Now)
		}); n != 0 {
			t.Errorf("%v allocations for a request", n)
		}
	})
}

func TestLookup(t *testing.T) {
	for _, d := range Definitions() {
		if got, ok := Lookup(d.Name()); !ok || got != d {
			t.Errorf("Lookup(%q) = %v, %v", d.Name(), got, ok)
		}
	}
	if _, ok := Lookup("nearest"); ok {
		t.Error("Lookup finds an algorithm that isn't there")
	}
}
