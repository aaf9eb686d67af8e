// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy"
)

// TestChainsAreWholeOrGone keeps many chains and recalls them until they are
// overwritten.
func TestChainsAreWholeOrGone(t *testing.T) {
	var c chains
	r := rand.New(rand.NewPCG(1, 2))
	type kept struct {
		chain
		hashes []uint64
	}
	var all []kept
	lost, found := 0, 0
	for range 20_000 {
		q := policy.Request{Tag: r.Uint64(), Length: r.IntN(1000)}
		for range r.IntN(60) {
			q.Hashes, q.Ends = append(q.Hashes, r.Uint64()), append(q.Ends, uint32(len(q.Ends)+1))
		}
		all = append(all, kept{c.keep(&q), q.Hashes})
		k := &all[r.IntN(min(len(all), 4000))+max(0, len(all)-4000)]
		got := c.recall(&k.chain, time.Second)
		switch {
		case got.Tag != k.Tag || got.Length != k.Length || got.Now != time.Second:
			t.Fatalf("recalled %+v, kept %+v", got, k.Request)
		case len(got.Hashes) == 0 && len(k.hashes) > 0:
			lost++
		case !slices.Equal(got.Hashes, k.hashes) || len(got.Ends) != len(k.hashes):
			t.Fatalf("a chain of %d blocks comes back with %d, or others", len(k.hashes), len(got.Hashes))
		default:
			found++
		}
	}
	if lost == 0 || found == 0 {
		t.Errorf("%d lost, %d found: both are to be seen", lost, found)
	}
}

func TestChainTooLongForTheRing(t *testing.T) {
	var c chains
	q := policy.Request{Hashes: make([]uint64, chainMost+1), Ends: make([]uint32, chainMost+1)}
	k := c.keep(&q)
	if got := c.recall(&k, 0); len(got.Hashes) != 0 {
		t.Errorf("%d blocks come back", len(got.Hashes))
	}
}
