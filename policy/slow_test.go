// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"slices"
	"testing"

	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// slowRank is the cost function of PrefixAware as its comment states it, for
// clarity above speed: the ranking of all endpoints that may be chosen.
func slowRank(p *Pool, a PrefixAware, r *Request) []*load.Endpoint {
	list := slices.DeleteFunc(slices.Clone(p.view.Endpoints()), func(e *load.Endpoint) bool { return !e.Ready(r.Now) })
	if len(list) == 0 {
		return nil
	}
	ages, mean, _ := slowAges(p, r)
	head := r.head()
	arrivals := p.heads.at(r.headKey(), r.Now)
	rate := arrivals / float64(len(list))
	part := p.heads.all.at(r.Now) / float64(len(list)) // arrivals that an endpoint has on average
	key, basis := r.Key, r.prev()
	if head > 0 && rate*mean < a.HeadReuse && arrivals < a.HeadShare*part {
		key, basis = r.headKey(), max(basis, head)
	}
	rank := slowOrder(list, key)
	best, most := 0, 0 // the most that any but the primary holds, and that any does
	for _, e := range list {
		most = max(most, p.matchOf(e, r))
		if rank[e] > 0 {
			best = max(best, p.matchOf(e, r))
		}
	}
	cost := map[*load.Endpoint]float64{}
	lowest := math.Inf(1)
	for _, e := range list {
		believed := p.matchOf(e, r)
		if rank[e] == 0 && best <= max(believed, head) {
			believed = max(believed, int(p.prior.value*float64(basis)))
		}
		believed = min(believed, r.Length)
		uncached := float64(r.Length - believed)
		h := max(float64(min(head, r.Length)-believed), 0)
		work := slowPrice(p, a, e, r, most > head) * (uncached - h + h/(1+a.HeadDiscount*rate*ages[e])) / p.ratio.Value()
		q := p.view.Quotes()[slices.Index(p.view.Endpoints(), e)]
		cost[e] = q.Wait + work*q.Pace
		if p.settings.Gateways > 1 {
			cost[e] += a.RankShare * p.view.Age(r.Now).Seconds() * float64(min(rank[e], maxRank))
		}
		lowest = min(lowest, cost[e])
	}
	limit := lowest
	if most <= head {
		limit += max(a.TieSeconds, a.TieShare*lowest)
	}
	slices.SortStableFunc(list, func(x, y *load.Endpoint) int {
		switch inX, inY := cost[x] <= limit, cost[y] <= limit; {
		case inX && inY:
			return rank[x] - rank[y]
		case inX != inY && inX, cost[x] < cost[y]:
			return -1
		case cost[x] > cost[y]:
			return 1
		}
		return 0
	})
	return list
}

// slowPrice is what a token costs on e, of a conversation that somebody is known
// to hold or not.
func slowPrice(p *Pool, a PrefixAware, e *load.Endpoint, r *Request, known bool) float64 {
	ages, _, least := slowAges(p, r)
	youth := least / ages[e]
	if known {
		youth = 0
		for _, other := range p.view.Endpoints() {
			youth += least / ages[other] / float64(len(ages))
		}
	}
	if p.settings.Gateways > 1 {
		return a.Price*a.Several + a.Evict*youth
	}
	return a.Price + a.Evict*youth
}

// slowAges is the age of each endpoint's blocks, their mean and the least, in
// seconds.
func slowAges(p *Pool, r *Request) (ages map[*load.Endpoint]float64, mean, least float64) {
	ages = map[*load.Endpoint]float64{}
	least = maxAge.Seconds()
	for _, e := range p.view.Endpoints() {
		ages[e] = max(p.table.Age(e.Index, r.Now), minAge).Seconds()
		mean += ages[e] / float64(len(p.view.Endpoints()))
		least = min(least, ages[e])
	}
	return ages, mean, least
}

// slowOrder is the place of each endpoint in the rendezvous ranking of key.
func slowOrder(list []*load.Endpoint, key uint64) map[*load.Endpoint]int {
	sorted := slices.Clone(list)
	score := func(e *load.Endpoint) float64 {
		return hrw.Score(key, hrw.Node{Seed: hrw.Seed(e.ID), Weight: hrw.Weight(e.Weight)})
	}
	slices.SortFunc(sorted, func(x, y *load.Endpoint) int {
		if score(x) > score(y) {
			return -1
		}
		return 1
	})
	rank := map[*load.Endpoint]int{}
	for i, e := range sorted {
		rank[e] = i
	}
	return rank
}

func TestPickEqualsFormula(t *testing.T) {
	a := DefaultPrefixAware()
	for seed := range uint64(400) {
		w := newWorld(t, seed)
		for range 10 {
			r := w.prompt()
			got := w.pool.Pick(nil, r)
			want := slowRank(w.pool, a, r)
			if got.N != min(len(want), MaxChoices) {
				t.Fatalf("seed %d: list of %d, want %d", seed, got.N, min(len(want), MaxChoices))
			}
			for i := range got.N {
				if got.Endpoints[i] != want[i] {
					t.Fatalf("seed %d: place %d is %s, the formula says %s", seed, i, got.Endpoints[i].ID, want[i].ID)
				}
			}
		}
	}
}
