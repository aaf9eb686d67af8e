// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math"
	"testing"
)

// handModel computes 512 tokens a second and decodes ten.
func handModel() Model {
	return Model{CacheBlocks: 4, Prefill: BlockTokens, Decode: 10, MinCompute: 32}
}

// TestEngineByHand plays six requests on one engine with room for four blocks.
//
//	at  blocks     found        computed    starts  first token
//	0   A B        –            2 blocks    0       2
//	1   A B C      A B          1 block     2       3
//	1   X          –            1 block     3       4      cache X A B C
//	5   A B C      A B C        32 tokens   5       5.0625 cache A B C X
//	6   Y Z        –            2 blocks    6       8      cache Y Z A B
//	9   A B C      A B          1 block     9       10     C was evicted before its head
func TestEngineByHand(t *testing.T) {
	const A, B, C, X, Y, Z = 1, 2, 3, 4, 5, 6
	trace := Trace{Name: "by hand"}
	for _, r := range []struct {
		at     float64
		blocks []int
	}{
		{0, []int{A, B}}, {1, []int{A, B, C}}, {1, []int{X}}, {5, []int{A, B, C}}, {6, []int{Y, Z}}, {9, []int{A, B, C}},
	} {
		trace.Requests = append(trace.Requests, Request{At: r.at, Blocks: r.blocks, Input: len(r.blocks) * BlockTokens, Output: 10})
	}
	m, _ := Find("least-tokens")
	got, err := Run(Config{Trace: trace, Engines: 1, Gateways: 1, LoadAge: 0.5, Model: handModel(), Policy: m})
	if err != nil {
		t.Fatal(err)
	}
	mean := (2 + 2 + 3 + 0.0625 + 2 + 1) / 6.0
	cached := (0 + 2*512 + 0 + 3*512 - 32 + 0 + 2*512) / (14 * 512.0)
	if math.Abs(got.MeanFirstToken-mean) > 1e-9 || math.Abs(got.HitRatio-cached) > 1e-9 || got.Requests != 6 {
		t.Errorf("mean %.4f s, hit ratio %.4f of %d requests, want %.4f and %.4f of 6", got.MeanFirstToken, got.HitRatio, got.Requests, mean, cached)
	}
}

// TestRunningRequestsSlowTheHardEngine: with two requests that decode, a
// prefill of 512 tokens takes 1.06 s.
func TestRunningRequestsSlowTheHardEngine(t *testing.T) {
	m := handModel()
	m.Slowdown = 0.03
	e := newEngine(m, 1)
	now := 0.0
	for n := range 3 {
		e.enqueue(&job{r: &Request{Blocks: []int{n}, Input: BlockTokens, Output: 1000}}, now)
		begun := now
		j := e.complete()
		now = j.first
		if want := 1 + 0.03*float64(n); math.Abs(now-begun-want) > 1e-9 {
			t.Errorf("prefill beside %d running requests takes %.3f s, want %.2f", n, now-begun, want)
		}
	}
}

func TestRunningRequestsHoldBlocks(t *testing.T) {
	m := handModel()
	m.HoldBlocks = true
	e := newEngine(m, 1)
	e.cache.use([]int{1, 2, 3, 4})
	e.enqueue(&job{r: &Request{Blocks: []int{9}, Input: BlockTokens, Output: BlockTokens}}, 0)
	if got := e.cache.order.Len(); got != 2 {
		t.Errorf("%d blocks stay cached beside a request that holds two of four", got)
	}
	e.complete()
	e.retire()
	if e.cache.reserved != 0 || e.held != 0 {
		t.Errorf("%d blocks reserved, %d held after the last request", e.cache.reserved, e.held)
	}
}

func TestCachesAgeAsTheirModelSays(t *testing.T) {
	for headsFirst, kept := range map[bool]int{false: 1, true: 3} {
		l := newLRU(2, headsFirst)
		l.use([]int{1, 2, 3})
		if l.at[kept] == nil || l.at[4-kept] != nil {
			t.Errorf("heads first %v: of the chain 1 2 3, %d is not among the two that stay", headsFirst, kept)
		}
	}
}
