// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type testCache = cache[string, *int]

func newTestCache(capacity, limit int, evicted func(Eviction)) *testCache {
	return newCache(&NewBudget[string, *int](capacity).dynamic, limit, evicted)
}

// check proves the invariants that cache states.
func check(t *testing.T, c *testCache) {
	t.Helper()
	inSlots := 0
	refs := make(map[share]int)
	for target, s := range c.slots {
		if len(s.entries) == 0 || c.limit > 0 && len(s.entries) > c.limit {
			t.Fatalf("target %q has %d entries", target, len(s.entries))
		}
		for _, e := range s.entries {
			if e.state != live || e.home != c || e.target != target || c.definitions[e.def.share] != e.def {
				t.Fatalf("entry %q %q is not as its slot says", e.target, e.form)
			}
			refs[e.def.share]++
			inSlots++
		}
	}
	inRing := 0
	for e := c.root.newer; e != &c.root; e = e.newer {
		if e.newer.older != e || e.newer != &c.root && e.newer.used < e.used {
			t.Fatal("the ring is not in order of use")
		}
		inRing++
	}
	if inSlots != c.count || inRing != c.total || c.total > c.capacity || len(refs) != len(c.definitions) {
		t.Fatalf("%d in slots, %d in the ring, count %d, capacity %d, %d definitions for %d",
			inSlots, inRing, c.count, c.capacity, len(c.definitions), len(refs))
	}
	for s, n := range refs {
		if c.definitions[s].refs != n {
			t.Fatalf("definition %v has %d references, counted %d", s, c.definitions[s].refs, n)
		}
	}
}

// naive is the cache as a list in the words of its description.
type naive struct {
	capacity, limit int
	entries         []naiveEntry // in order of insertion
	evicted         []Eviction
}

type naiveEntry struct {
	target, form string
	used         time.Duration
	uses         int // breaks ties of used
}

func (n *naive) drop(i int, why Cause) {
	e := n.entries[i]
	n.evicted = append(n.evicted, Eviction{e.target, e.form, why})
	n.entries = slices.Delete(n.entries, i, i+1)
}

// oldest is the entry unused longest.
func (n *naive) oldest() int {
	oldest := 0
	for i, e := range n.entries {
		if e.uses < n.entries[oldest].uses {
			oldest = i
		}
	}
	return oldest
}

func (n *naive) sweep(now time.Duration) {
	for len(n.entries) > 0 {
		i := n.oldest()
		if now-n.entries[i].used < idleTimeout {
			return
		}
		n.drop(i, Idle)
	}
}

func (n *naive) find(target, form string, now time.Duration, use int) bool {
	for i := range n.entries {
		e := &n.entries[i]
		if e.target == target && e.form == form && now-e.used < idleTimeout {
			e.used, e.uses = now, use
			return true
		}
	}
	return false
}

func (n *naive) insert(target, form string, now time.Duration, use int) {
	n.sweep(now)
	first, count := -1, 0
	for i, e := range n.entries {
		if e.target == target {
			if first < 0 {
				first = i
			}
			count++
		}
	}
	if n.limit > 0 && count >= n.limit {
		n.drop(first, Replaced)
	}
	if len(n.entries) >= n.capacity {
		n.drop(n.oldest(), Capacity)
	}
	n.entries = append(n.entries, naiveEntry{target, form, now, use})
}

// TestCacheAgreesWithNaiveModel runs random operations on both and compares
// results and evictions after each.
func TestCacheAgreesWithNaiveModel(t *testing.T) {
	for seed, size := range []struct{ capacity, limit int }{{1, 2}, {2, 1}, {5, 2}, {16, 2}, {16, 0}} {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		want := &naive{capacity: size.capacity, limit: size.limit}
		var evicted []Eviction
		c := newTestCache(size.capacity, size.limit, func(e Eviction) { evicted = append(evicted, e) })
		now := time.Duration(0)
		for step := range 5000 {
			now += time.Duration(rng.IntN(120)) * time.Second
			target, form := string('a'+byte(rng.IntN(7))), string('p'+byte(rng.IntN(4)))
			switch rng.IntN(20) {
			case 0:
				c.sweep(now)
				want.sweep(now)
			case 1:
				c.drop(target, form)
				if i := slices.IndexFunc(want.entries, func(e naiveEntry) bool {
					return e.target == target && e.form == form
				}); i >= 0 {
					want.drop(i, Dropped)
				}
			default:
				found := want.find(target, form, now, step)
				if e := c.find([]byte(target), []byte(form), now); (e != nil) != found {
					t.Fatalf("step %d: found %v, want %v", step, e != nil, found)
				}
				if !found {
					c.insert(newEntry(c, target, form), now)
					want.insert(target, form, now, step)
				}
			}
			check(t, c)
			if !slices.Equal(evicted, want.evicted) || c.count != len(want.entries) {
				t.Fatalf("step %d: evicted %v, want %v", step, evicted, want.evicted)
			}
			evicted, want.evicted = nil, nil
		}
	}
}

func newEntry(c *testCache, target, form string) *entryOf[string, *int] {
	def := c.definition(0, []byte(form), func() string { return form })
	return &entryOf[string, *int]{target: target, form: form, def: def, instance: new(int)}
}

func TestCacheSharesDefinitionsNotInstances(t *testing.T) {
	c := newTestCache(8, 2, nil)
	compiled := 0
	entry := func(target string, base int) *entryOf[string, *int] {
		def := c.definition(base, []byte("f"), func() string { compiled++; return "f" })
		return c.insert(&entryOf[string, *int]{target: target, form: "f", def: def, instance: new(int)}, 0)
	}
	a, b, other := entry("a", 0), entry("b", 0), entry("c", 1)
	if a.def != b.def || a.instance == b.instance || a.def == other.def {
		t.Error("targets of one base share the definition and nothing else")
	}
	if compiled != 2 || len(c.definitions) != 2 {
		t.Errorf("compiled %d, kept %d definitions, want 2 and 2", compiled, len(c.definitions))
	}
	c.drop("a", "f")
	check(t, c)
	c.drop("b", "f")
	check(t, c)
	if len(c.definitions) != 1 {
		t.Errorf("%d definitions after the last reference went, want 1", len(c.definitions))
	}
}

func TestRetiredEntryNeverComesBack(t *testing.T) {
	c := newTestCache(1, 2, nil)
	old := c.insert(newEntry(c, "a", "f"), 0)
	c.insert(newEntry(c, "b", "f"), 0)
	if got := c.insert(old, 0); got != old || c.find([]byte("a"), []byte("f"), 0) != nil {
		t.Error("an evicted entry is in the cache again")
	}
	if c.use(old, 0) {
		t.Error("an evicted entry counts as used")
	}
	check(t, c)
}

func TestFirstOfTwoEqualInsertsStays(t *testing.T) {
	c := newTestCache(8, 2, nil)
	first, second := newEntry(c, "a", "f"), newEntry(c, "a", "f")
	c.insert(first, 0)
	if got := c.insert(second, 0); got != first || c.count != 1 {
		t.Errorf("the second of two equal entries is kept; %d entries", c.count)
	}
	check(t, c)
}

func TestCachesOfOneRingShareItsCapacity(t *testing.T) {
	budget := NewBudget[string, *int](4)
	gone := map[string]int{}
	a := newCache(&budget.dynamic, 2, func(Eviction) { gone["a"]++ })
	b := newCache(&budget.dynamic, 2, func(Eviction) { gone["b"]++ })
	for i, target := range []string{"a", "b", "c"} {
		a.insert(newEntry(a, target, "f"), time.Duration(i))
		b.insert(newEntry(b, target, "f"), time.Duration(i))
		if a.count+b.count != budget.dynamic.total || budget.dynamic.total > 4 {
			t.Fatalf("%d and %d entries, %d in the ring of 4", a.count, b.count, budget.dynamic.total)
		}
	}
	if gone["a"] != 1 || gone["b"] != 1 || a.find([]byte("a"), []byte("f"), 3) != nil {
		t.Errorf("%v left, want the oldest of each", gone)
	}
	a.clear(ConfigChange)
	if a.count != 0 || b.count != 2 || budget.dynamic.total != 2 || b.find([]byte("c"), []byte("f"), 3) == nil {
		t.Errorf("after one is cleared: %d and %d entries, want 0 and 2", a.count, b.count)
	}
	check(t, b)
	a.insert(newEntry(a, "d", "f"), 4)
	budget.dynamic.sweep(4 + idleTimeout)
	if a.count+b.count+budget.dynamic.total != 0 {
		t.Error("a sweep leaves idle entries of a shared ring")
	}
}
