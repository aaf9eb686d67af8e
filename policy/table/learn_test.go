// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"testing"
	"time"
)

func TestLearnCountsToolsOnceAndOutputUntilItHasBlocks(t *testing.T) {
	x := newTable(t, Config{Endpoints: 1}, 0)
	steps := []struct {
		name  string
		chain Chain
		extra uint32
		want  uint64
	}{
		{"first turn with 1,000 bytes of output", blocks(1, 10, 11), 1000, 5000 + 512 + 1000},
		{"second turn brings the output as blocks", blocks(1, 10, 11, 12, 13), 40, 5000 + 1024 + 40},
		{"another conversation under the same tools", blocks(1, 10, 21), 0, 5000 + 1280 + 40},
	}
	for _, step := range steps {
		step.chain.Tools = 5000
		x.Learn(0, step.chain, step.extra, 0)
		if _, got := x.Held(0); got != step.want {
			t.Errorf("%s: bytes = %d, want %d", step.name, got, step.want)
		}
	}
}

func TestLearnKeepsTheLeadingPartOfAChainLongerThanTheCapacity(t *testing.T) {
	x := newTable(t, Config{Endpoints: 1}, 1000)
	x.Learn(0, blocks(0, 1, 2, 3, 4, 5), 0, 0)
	if got, want := matches(x, blocks(0, 1, 2, 3, 4, 5)), []uint32{768}; !slices.Equal(got, want) {
		t.Errorf("Match = %v, want %v", got, want)
	}
	x.Learn(0, blocks(9, 7), 5000, 0)
	if n, bytes := x.Held(0); n != 0 || bytes != 0 {
		t.Errorf("after a block above the capacity Held = %d, %d, want 0, 0", n, bytes)
	}
}

func TestLearnEvictsTailsBeforeHeads(t *testing.T) {
	x := newTable(t, Config{Endpoints: 1}, 6*256)
	x.Learn(0, blocks(0, 1, 2, 3, 4), 0, 0)
	x.Learn(0, blocks(0, 1, 2, 5, 6), 0, time.Second)
	if got := matches(x, blocks(0, 1, 2, 3, 4))[0]; got != 4*256 {
		t.Errorf("with room for both, the first chain matches %d, want 1024", got)
	}
	x.Learn(0, blocks(0, 7), 0, 2*time.Second)
	if got := matches(x, blocks(0, 1, 2, 3, 4))[0]; got != 3*256 {
		t.Errorf("after one eviction the first chain matches %d, want 768", got)
	}
	if got := matches(x, blocks(0, 1, 2, 5, 6))[0]; got != 4*256 {
		t.Errorf("after one eviction the second chain matches %d, want 1024", got)
	}
}

func TestFullArenaTakesFromTheEndpointFurthestAboveItsShare(t *testing.T) {
	// Shares of the 40 nodes: 30 and 10.
	x := newTable(t, Config{Endpoints: 2, Nodes: 40, Slots: 100}, 3<<20, 1<<20)
	held := func() [2]int {
		a, _ := x.Held(0)
		b, _ := x.Held(1)
		return [2]int{a, b}
	}
	next := uint64(0)
	learn := func(e, n int) {
		for range n {
			next++
			x.Learn(e, blocks(0, next), 0, 0)
		}
	}
	learn(1, 40)
	if got, want := held(), [2]int{0, 40}; got != want {
		t.Errorf("an endpoint alone holds %v, want %v", got, want)
	}
	learn(0, 20)
	if got, want := held(), [2]int{20, 20}; got != want {
		t.Errorf("while the other fills up they hold %v, want %v", got, want)
	}
	learn(0, 100)
	if got, want := held(), [2]int{30, 10}; got != want {
		t.Errorf("in the end they hold %v, want %v", got, want)
	}
}

func TestFullSlotsGiveWay(t *testing.T) {
	x := newTable(t, Config{Endpoints: 2, Slots: 8, Nodes: 100}, 0, 0)
	for i := range uint64(8) {
		x.Learn(0, blocks(0, i), 0, 0)
		x.Learn(1, blocks(0, i), 0, 0)
	}
	x.Learn(1, blocks(0, 100), 0, time.Second)
	if got, want := matches(x, blocks(0, 100)), []uint32{0, 256}; !slices.Equal(got, want) {
		t.Errorf("Match of the block learnt last = %v, want %v", got, want)
	}
	checkBothDirections(t, x)
}

// With one bucket all keys collide, which stands for an attacker who has found
// colliding hashes.
func TestCollidingHashesAreBounded(t *testing.T) {
	x := newTable(t, Config{Endpoints: 2, Slots: 1000, Nodes: 4000}, 0, 0)
	x.byPair = x.byPair[:2]
	bucket0 := func(h uint64) bool { return x.pairBucket(key{hash: h}) == &x.byPair[0] }
	learnt := 0
	for h := uint64(1); learnt < 500; h++ {
		if !bucket0(h) {
			continue
		}
		x.Learn(0, blocks(0, h), 0, 0)
		x.Learn(1, blocks(0, h), 0, 0)
		learnt++
		if got := matches(x, blocks(0, h)); got[0] != 256 || got[1] != 256 {
			t.Fatalf("block %d matches %v, want 256 on both", h, got)
		}
		checkBothDirections(t, x)
	}
	if n, _ := x.Held(0); n != maxRun {
		t.Errorf("endpoint 0 holds %d colliding blocks, want %d", n, maxRun)
	}
}

func TestRemoveTouchesOwnNodesOnly(t *testing.T) {
	x := newTable(t, Config{Endpoints: 4, Slots: 100, Nodes: 200}, 0, 0, 0, 0)
	for e := range 4 {
		x.Learn(e, blocks(0, 1, 2, uint64(10+e)), 0, time.Duration(e)*time.Second)
	}
	before := slices.Clone(x.nodes)
	x.Remove(2)
	changed := 0
	for n, was := range before {
		if x.nodes[n] == was {
			continue
		}
		changed++
		// A neighbour in a bucket may change its link, and nothing else.
		is := x.nodes[n]
		is.next, was.next = 0, 0
		if int(before[n].endpoint) != 2 && is != was {
			t.Errorf("node %d of endpoint %d is %+v, was %+v", n, before[n].endpoint, x.nodes[n], before[n])
		}
	}
	if changed < 3 {
		t.Errorf("%d nodes changed, want at least the 3 of the endpoint", changed)
	}
	if got, want := matches(x, blocks(0, 1, 2)), []uint32{512, 512, 0, 512}; !slices.Equal(got, want) {
		t.Errorf("Match = %v, want %v", got, want)
	}
	if e, ok := x.Add(0); e != 2 || !ok {
		t.Errorf("Add = %d, %v, want the index that became free, 2", e, ok)
	}
	if got := matches(x, blocks(0, 1, 2))[2]; got != 0 {
		t.Errorf("the endpoint added in its place matches %d, want 0", got)
	}
}

func TestIndicesNotInUseAreNoOps(t *testing.T) {
	x := newTable(t, Config{Endpoints: 3}, 0)
	for _, e := range []int{-1, 1, 2, 3, 1 << 20} {
		x.Remove(e)
		x.Reset(e)
		x.SetCapacity(e, 1)
		x.Learn(e, blocks(0, 1), 0, 0)
		x.Shrink(e, blocks(0, 1), 0)
		x.Assign(1, e, 0)
		x.Place(e, Placement{Hash: 1}, 0)
		if n, bytes := x.Held(e); n != 0 || bytes != 0 || x.Age(e, 0) != 0 {
			t.Errorf("endpoint %d holds %d placements, %d bytes, aged %v", e, n, bytes, x.Age(e, 0))
		}
	}
	if x.usedNodes != 0 {
		t.Errorf("%d nodes are in use, want 0", x.usedNodes)
	}
}

func TestNothingAllocatesOnceWarm(t *testing.T) {
	x, candidates := fullTable(t, 256, 1<<20)
	chains := make([]Chain, 600)
	for i := range chains {
		chains[i] = benchChain(uint64(i), 64, 16)
	}
	dst := make([]uint32, 256)
	i, now := 0, time.Duration(0)
	calls := []struct {
		name string
		call func(c Chain, e int)
	}{
		{"Match", func(c Chain, e int) { x.Match(dst, c, candidates) }},
		{"Match any tag", func(c Chain, e int) { c.AnyTag = true; x.Match(dst, c, candidates) }},
		{"Learn", func(c Chain, e int) { x.Learn(e, c, 100, now) }},
		{"Age", func(c Chain, e int) { x.Age(e, now) }},
		{"Assign", func(c Chain, e int) { x.Assign(c.Hashes[0]+uint64(i), e, now) }},
		{"Owner", func(c Chain, e int) { x.Owner(c.Hashes[0]) }},
		{"Place", func(c Chain, e int) { x.Place(e, Placement{Hash: uint64(i), Age: time.Second}, now) }},
		{"Shrink", func(c Chain, e int) { x.Shrink(e, c, 60) }},
		{"Reset", func(c Chain, e int) { x.Reset(e) }},
	}
	for _, test := range calls {
		t.Run(test.name, func(t *testing.T) {
			allocs := testing.AllocsPerRun(1000, func() {
				i++
				now += time.Millisecond
				test.call(chains[i%len(chains)], i%256)
			})
			if allocs != 0 {
				t.Errorf("%v allocations, want 0", allocs)
			}
		})
	}
}
