// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy/load"
)

// expressions are one of each algorithm and the turns that they have.
var expressions = []string{
	"power-of-n", "power-of-n;sample_count=5;comparator=utilization", "power-of-n;comparator=num-requests-queued",
	"wait-and-widen", "wait-and-widen;cache_affinity_backend_selection_count=2;seed=s",
	"wait-and-widen;max_queue_time_floor_ms=50;max_queue_time_ceil_ms=900;n=4;ignore_queue_time=true",
	"pulsar", "pulsar;consider_kv_free_tokens=true",
	"pulsar-wait-and-widen", "pulsar-wait-and-widen;max_queue_time_floor_ms=50;max_queue_time_ceil_ms=900",
}

// randomEndpoints makes n endpoints with statistics of all kinds.
func randomEndpoints(rng *rand.Rand, n int) []Endpoint {
	list := make([]Endpoint, n)
	for i := range list {
		list[i] = Endpoint{
			ID: "ep-" + strconv.Itoa(i), Excluded: rng.IntN(8) == 0,
			RTT: float64(rng.IntN(40)), TPS: float64(rng.IntN(4)) * 500,
			QueuedInputTokens: uint64(rng.IntN(3) * 300), QueueSize: uint64(rng.IntN(3)),
			Running: uint64(rng.IntN(5)), MaxConcurrency: uint64(rng.IntN(3) * 2),
			KVCapacity: uint64(rng.IntN(2) * 1000), KVFree: uint64(rng.IntN(2) * 500),
		}
		if odd := []float64{math.NaN(), math.Inf(1), -1}; rng.IntN(10) == 0 {
			list[i].TPS, list[i].RTT = odd[rng.IntN(3)], odd[rng.IntN(2)]
		}
		if rng.IntN(3) == 0 {
			list[i].QueueTimes = []load.QueueTime{{Priority: uint32(rng.IntN(3)), Wait: uint64(rng.IntN(900))}}
		}
	}
	sortByID(list)
	return list
}

func randomRequest(rng *rand.Rand) *Request {
	r := &Request{
		Model: "m", AffinityKey: strconv.Itoa(rng.IntN(50)), InputTokens: uint64(rng.IntN(600)), HasInputTokens: true,
		Priority: uint32(rng.IntN(4)), Elapsed: time.Duration(rng.IntN(500)) * time.Millisecond, Draw: rng.Uint64(),
	}
	if rng.IntN(2) == 0 {
		r.SLO = 1000
	}
	return r
}

// TestFallbacksAreWhatARetryWouldGet compares each list with picking one by
// one while what was picked counts as failed, the draw being the same.
func TestFallbacksAreWhatARetryWouldGet(t *testing.T) {
	for _, e := range expressions {
		d := defined(t, e)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 300 {
			list, r := randomEndpoints(rng, 1+rng.IntN(12)), randomRequest(rng)
			got := pick(NewPicker(Limits{}), 3, d, r, list)
			left := slices.Clone(list)
			for n := range 3 {
				one := pick(NewPicker(Limits{RingBytes: -1}), 1, d, r, left)
				if n < len(got) != (len(one) == 1) || len(one) == 1 && one[0] != got[n] {
					t.Fatalf("%s: list %v, choice %d of retries %v", e, got, n, one)
				}
				for i := range left {
					left[i].Excluded = left[i].Excluded || len(one) == 1 && left[i].ID == one[0]
				}
			}
		}
	}
}

func TestPicksAreEligibleAndDifferent(t *testing.T) {
	for _, e := range expressions {
		d, p := defined(t, e), NewPicker(Limits{})
		rng := rand.New(rand.NewPCG(3, 4))
		for range 500 {
			list, r := randomEndpoints(rng, rng.IntN(40)), randomRequest(rng)
			i := NewInstance()
			got, outcome := p.Pick(nil, Query{d, i, r, list, 3})
			if (len(got) > 0) != (outcome.RankDepth > 0) || outcome.RankDepth > len(list) {
				t.Fatalf("%s: %d choices, rank depth %d", e, len(got), outcome.RankDepth)
			}
			for n, at := range got {
				if list[at].Excluded || slices.Contains(got[:n], at) {
					t.Fatalf("%s: choice %d of %v is excluded or chosen twice", e, at, got)
				}
				if d.Ranks() && list[at].rate() == 0 || d.considerKV && !list[at].holds(r) {
					t.Fatalf("%s: choice %d of %v is not feasible", e, at, got)
				}
			}
		}
	}
}

func plainEndpoints(n int) []Endpoint {
	list := make([]Endpoint, n)
	for i := range list {
		list[i] = Endpoint{ID: "ep-" + strconv.Itoa(i), TPS: 100}
	}
	sortByID(list)
	return list
}

// TestSamplesAreUniform draws often and compares shares with what chance gives
// (5 standard deviations).
func TestSamplesAreUniform(t *testing.T) {
	const n, draws = 6, 60_000
	list := plainEndpoints(n)
	list[2].Running, list[2].MaxConcurrency = 1, 4 // worse than all others
	for expression, want := range map[string][n]float64{
		"power-of-n;sample_count=1":             {1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6, 1. / 6},
		"power-of-n;comparator=utilization":     {.2, .2, 0, .2, .2, .2},
		"wait-and-widen;comparator=utilization": {.2, .2, 0, .2, .2, .2},
	} {
		d, p, rng := defined(t, expression), NewPicker(Limits{}), rand.New(rand.NewPCG(5, 6))
		var counts [n]int
		i, buf := NewInstance(), []int(nil)
		for range draws {
			buf, _ = p.Pick(buf[:0], Query{d, i, &Request{Draw: rng.Uint64()}, list, 1})
			counts[buf[0]]++
		}
		for at, share := range want {
			got := float64(counts[at]) / draws
			if margin := 5 * math.Sqrt(share*(1-share)/draws); math.Abs(got-share) > margin {
				t.Errorf("%s: endpoint %d has %.4f of the draws, want %.4f ± %.4f", expression, at, got, share, margin)
			}
		}
	}
}

func TestFirstOfIsABeginningOfTheOrder(t *testing.T) {
	p := NewPicker(Limits{})
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 5, 64, 65, 200} {
		for _, k := range []int{1, 2, 63, 64, 65, 199} {
			if k >= n {
				continue
			}
			p.begin(Query{defined(t, PowerOfN), nil, &Request{Draw: rng.Uint64()}, plainEndpoints(n), 1})
			want := slices.Clone(p.eligible())
			slices.SortFunc(want, func(a, b int32) int { return cmp.Compare(p.order[a], p.order[b]) })
			got := slices.Clone(p.firstOf(p.eligible(), k))
			slices.SortFunc(got, func(a, b int32) int { return cmp.Compare(p.order[a], p.order[b]) })
			if !slices.Equal(got, want[:k]) {
				t.Errorf("first %d of %d: %v, want %v", k, n, got, want[:k])
			}
		}
	}
}

func TestPulsarMovesOnlyTheKeysOfWhatLeaves(t *testing.T) {
	const keys = 4000
	d, p, list := defined(t, Pulsar), NewPicker(Limits{}), plainEndpoints(8)
	list[3].TPS = 300
	share := 0
	for key := range keys {
		r := &Request{Model: "m", AffinityKey: strconv.Itoa(key)}
		before := pick(p, 1, d, r, list)[0]
		after := pick(p, 1, d, r, slices.Delete(slices.Clone(list), 0, 1))[0]
		if before != list[0].ID && after != before {
			t.Fatalf("key %d moved from %s to %s", key, before, after)
		}
		if before == list[3].ID {
			share++
		}
	}
	want := 0.3 // 300 of 1000
	if got := float64(share) / keys; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/keys) {
		t.Errorf("the endpoint with 30 %% of the rate has %.3f of the keys", got)
	}
}

func TestKVSkipIsAboutRoomOnly(t *testing.T) {
	d, p, list := defined(t, "pulsar;consider_kv_free_tokens=true"), NewPicker(Limits{}), plainEndpoints(3)
	for i := range list {
		list[i].KVCapacity, list[i].KVFree = 1000, 500
	}
	r := &Request{Model: "m", AffinityKey: "k", InputTokens: 500, HasInputTokens: true}
	order, _ := p.Pick(nil, Query{d, nil, r, list, 3})
	list[order[0]].Excluded = true
	if got, o := p.Pick(nil, Query{d, nil, r, list, 1}); got[0] != order[1] || o != (Outcome{RankDepth: 2}) {
		t.Errorf("after a failure: %v %+v", got, o)
	}
	list[order[1]].KVFree = 499
	if got, o := p.Pick(nil, Query{d, nil, r, list, 1}); got[0] != order[2] || o != (Outcome{RankDepth: 3, KVSkip: true}) {
		t.Errorf("after a failure and a full cache: %v %+v", got, o)
	}
	r.HasInputTokens = false
	if got, _ := p.Pick(nil, Query{d, nil, r, list, 1}); len(got) > 0 {
		t.Errorf("picked %v without knowing the prompt's size", got)
	}
}

func TestNearBandBeatsFasterFarOne(t *testing.T) {
	d, p, list := defined(t, "pulsar-wait-and-widen;max_queue_time_floor_ms=100;max_queue_time_ceil_ms=100"), NewPicker(Limits{}), plainEndpoints(5)
	r := &Request{Model: "m", AffinityKey: "k"}
	order, _ := p.Pick(nil, Query{defined(t, Pulsar), nil, r, list, 5})
	list[order[0]].QueuedInputTokens = 11 // 110 ms
	for _, at := range order[1:3] {
		list[at].QueuedInputTokens = 10 // 100 ms
	}
	got, o := p.Pick(nil, Query{d, nil, r, list, 1})
	if at := slices.Index(order, got[0]); at != 1 && at != 2 || o.RankDepth != at+1 {
		t.Errorf("chose rank %d with depth %d, want one of the second band", at+1, o.RankDepth)
	}
	list[order[1]].QueuedInputTokens = 9
	if got, _ := p.Pick(nil, Query{d, nil, r, list, 1}); got[0] != order[1] {
		t.Errorf("chose rank %d, want the shorter queue of the band", slices.Index(order, got[0])+1)
	}
	list[order[0]].QueuedInputTokens, list[order[0]].Running, list[order[0]].MaxConcurrency = 0, 9, 4
	if got, _ := p.Pick(nil, Query{defined(t, PulsarWaitAndWiden), nil, r, list, 1}); got[0] != order[0] {
		t.Errorf("chose rank %d, want the first though it is full: no limit is set", slices.Index(order, got[0])+1)
	}
}

func TestNoChoice(t *testing.T) {
	for _, c := range []struct {
		n, m          int
		waits, failed bool
		want          expr.Code
	}{
		{3, 1, true, true, 0},
		{3, 1, false, false, expr.NoEligibleBackend},
		{3, 0, true, true, expr.NoEligibleBackend},
		{0, 0, true, false, expr.NoEligibleCandidates},
		{0, 0, true, true, expr.NoEligibleBackend},
	} {
		code := expr.Code(0)
		if r := NoChoice(c.n, c.m, c.waits, c.failed); r != nil {
			code = r.Code
		}
		if code != c.want {
			t.Errorf("%+v: %v, want %v", c, code, c.want)
		}
	}
}

func TestWarmPickDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	list, r := randomEndpoints(rng, 16), randomRequest(rng)
	for _, e := range expressions {
		d, p, i, buf := defined(t, e), NewPicker(Limits{}), NewInstance(), make([]int, 0, 3)
		p.Pick(buf, Query{d, i, r, list, 3})
		if n := testing.AllocsPerRun(100, func() { p.Pick(buf, Query{d, i, r, list, 3}) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", e, n)
		}
	}
}
