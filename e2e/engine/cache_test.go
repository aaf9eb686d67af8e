// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCacheEvictsTailsFirst(t *testing.T) {
	c := newCache(4, 4)
	a := c.chain("", bytes.Repeat([]byte("a"), 3*16))
	b := c.chain("", bytes.Repeat([]byte("b"), 2*16))
	c.keep(a)
	c.keep(b)
	if got := c.match(a); got != 2 {
		t.Errorf("after one block too many %d of 3 blocks match, want 2: the tail goes first", got)
	}
	if got := c.match(b); got != 2 {
		t.Errorf("%d of 2 blocks of the latest prompt match", got)
	}
}

func TestCacheHoldsTheHeadOfAPromptLargerThanItself(t *testing.T) {
	c := newCache(4, 4)
	long := c.chain("", bytes.Repeat([]byte("long"), 100))
	c.keep(long)
	if got := c.match(long); got != 4 {
		t.Errorf("%d blocks match in a cache of 4", got)
	}
}

// The cache equals a slice of names ordered by use, whatever comes.
func TestCacheEqualsAList(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c := newCache(20, 4)
	var model []uint64 // most recent first
	for step := range 2000 {
		prompt := bytes.Repeat([]byte{byte('a' + random.IntN(6))}, 16*random.IntN(9))
		chain := c.chain("", prompt)
		want := 0
		for want < len(chain) && slices.Contains(model, chain[want]) {
			want++
		}
		if got := c.match(chain); got != want {
			t.Fatalf("step %d: match = %d, want %d", step, got, want)
		}
		c.keep(chain)
		for _, name := range slices.Backward(chain) {
			if at := slices.Index(model, name); at >= 0 {
				model = slices.Delete(model, at, at+1)
			}
			model = slices.Insert(model, 0, name)
		}
		model = model[:min(len(model), 20)]
		if len(c.blocks) != len(model) || c.recent.Len() != len(model) {
			t.Fatalf("step %d: %d blocks, %d in the list, want %d", step, len(c.blocks), c.recent.Len(), len(model))
		}
	}
}

func TestNamespacesShareNoBlock(t *testing.T) {
	c := newCache(100, 4)
	prompt := bytes.Repeat([]byte("x"), 160)
	c.keep(c.chain("model a", prompt))
	if got := c.match(c.chain("model b", prompt)); got != 0 {
		t.Errorf("%d blocks of another namespace match", got)
	}
}
