// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"testing"
	"time"
)

// benchEndpoints are a small pool, the default size, and the limit.
var benchEndpoints = []int{16, 256, 1024}

const benchBlocks = 64 // a prompt of 52 KiB

// mixed returns the n-th number of a fixed pseudo-random sequence.
func mixed(n uint64) uint64 {
	n = (n ^ n>>31) * fibonacci
	return (n ^ n>>29) * 0xbf58476d1ce4e5b9
}

// benchChain returns a chain of blocks of 1 KiB, the first shared of which are
// those of all such chains.
func benchChain(id uint64, blocks, shared int) Chain {
	c := Chain{Tag: 42}
	for i := range blocks {
		h := mixed(uint64(i))
		if i >= shared {
			h = mixed(id<<20 + uint64(i))
		}
		c.Hashes = append(c.Hashes, h)
		c.Ends = append(c.Ends, uint32(i+1)*1024)
	}
	return c
}

func fullTable(tb testing.TB, endpoints int, capacity uint64) (*Table, []uint64) {
	t, err := New(Config{Endpoints: endpoints})
	if err != nil {
		tb.Fatal(err)
	}
	candidates := make([]uint64, t.Words())
	for range endpoints {
		e, _ := t.Add(capacity)
		candidates[e>>6] |= 1 << (e & 63)
	}
	return t, candidates
}

// BenchmarkMatch walks 64 blocks under three distributions of holders: all
// blocks on all endpoints (no bit drops, nothing ends early), each endpoint a
// little deeper than the one before, and the first block on all and the others
// on one only (a system prompt and a conversation).
func BenchmarkMatch(b *testing.B) {
	depths := []struct {
		name  string
		depth func(e, endpoints int) int
	}{
		{"all", func(int, int) int { return benchBlocks }},
		{"staggered", func(e, n int) int { return 1 + e*benchBlocks/n }},
		{"one", func(e, _ int) int { return max(1, benchBlocks*(1-min(e, 1))) }},
	}
	for _, d := range depths {
		for _, n := range benchEndpoints {
			b.Run(fmt.Sprintf("held=%s/blocks=%d/endpoints=%d", d.name, benchBlocks, n), func(b *testing.B) {
				t, candidates := fullTable(b, n, 0)
				c := benchChain(1, benchBlocks, 0)
				for e := range n {
					k := d.depth(e, n)
					t.Learn(e, Chain{Hashes: c.Hashes[:k], Ends: c.Ends[:k], Tag: c.Tag}, 0, 0)
				}
				dst := make([]uint32, n)
				b.ReportAllocs()
				for b.Loop() {
					t.Match(dst, c, candidates)
				}
			})
		}
	}
}

// BenchmarkMatchInFullTable walks prompts in turn that fill the table, a quarter
// of each common to all: most lookups miss the processor's nearest caches.
func BenchmarkMatchInFullTable(b *testing.B) {
	for _, n := range benchEndpoints {
		b.Run(fmt.Sprintf("blocks=%d/endpoints=%d", benchBlocks, n), func(b *testing.B) {
			t, candidates := fullTable(b, n, 0)
			chains := make([]Chain, 600)
			for i := range chains {
				chains[i] = benchChain(uint64(i), benchBlocks, benchBlocks/4)
				t.Learn(i*7%n, chains[i], 0, 0)
			}
			dst, i := make([]uint32, n), 0
			b.ReportAllocs()
			for b.Loop() {
				t.Match(dst, chains[i%len(chains)], candidates)
				i++
			}
		})
	}
}

// BenchmarkMatchAnyTag walks the same blocks with the tag unknown.
func BenchmarkMatchAnyTag(b *testing.B) {
	for _, n := range benchEndpoints {
		b.Run(fmt.Sprintf("blocks=%d/endpoints=%d", benchBlocks, n), func(b *testing.B) {
			t, candidates := fullTable(b, n, 0)
			c := benchChain(1, benchBlocks, 0)
			for e := range n {
				t.Learn(e, c, 0, 0)
			}
			c.AnyTag = true
			dst := make([]uint32, n)
			b.ReportAllocs()
			for b.Loop() {
				t.Match(dst, c, candidates)
			}
		})
	}
}

// BenchmarkLearn learns 64 blocks in a table whose arena is full: a chain that
// is held already, and one of which a quarter is common to all and the rest
// pushes out as much.
func BenchmarkLearn(b *testing.B) {
	for _, n := range benchEndpoints {
		chains := make([]Chain, 4096)
		for i := range chains {
			chains[i] = benchChain(uint64(i), benchBlocks, benchBlocks/4)
		}
		t, _ := fullTable(b, n, 64<<20)
		now := time.Duration(0)
		learn := func(i, e int) {
			now += time.Millisecond
			t.Learn(e, chains[i%len(chains)], 0, now)
		}
		for i := range chains {
			learn(i, i%n)
		}
		b.Run(fmt.Sprintf("held/blocks=%d/endpoints=%d", benchBlocks, n), func(b *testing.B) {
			for b.Loop() {
				learn(1, 1)
			}
		})
		b.Run(fmt.Sprintf("evicting/blocks=%d/endpoints=%d", benchBlocks, n), func(b *testing.B) {
			i := 0
			for b.Loop() {
				learn(i, i*7%n)
				i++
			}
		})
	}
}

func BenchmarkAge(b *testing.B) {
	t, _ := fullTable(b, 1, 1<<20)
	t.Learn(0, benchChain(1, benchBlocks, 0), 0, 0)
	for b.Loop() {
		t.Age(0, time.Second)
	}
}

func BenchmarkOwner(b *testing.B) {
	for _, n := range benchEndpoints {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			t, _ := fullTable(b, n, 0)
			t.Assign(7, n-1, 0)
			for b.Loop() {
				t.Owner(7)
			}
		})
	}
}
