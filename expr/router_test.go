// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// counted is a router whose definitions are canonical settings and whose
// instances are counters.
type counted struct {
	*Router[string, *int]
	compiled int
	evicted  map[Cause]int
}

func newCounted(t testing.TB, document string) *counted {
	t.Helper()
	c := &counted{evicted: make(map[Cause]int)}
	c.Router = NewRouter(mustParse(t, document), Maker[string, *int]{
		Compile: func(s *Settings) string { c.compiled++; return string(s.AppendJSON(nil)) },
		Start:   func(string) *int { return new(int) },
		Evicted: func(e Eviction) { c.evicted[e.Cause]++ },
	})
	return c
}

// send resolves and settles one request.
func (c *counted) send(t testing.TB, q Query, now time.Duration) Choice[string, *int] {
	t.Helper()
	choice, r := c.Resolve(q, now)
	if r != nil {
		t.Fatalf("%+v: %v", q, r)
	}
	c.Settle(&choice, 1, now)
	return choice
}

const both = `{"request_algorithms":{"sticky":"sticky"}}`

func TestRouterGivesTheAnswersOfResolve(t *testing.T) {
	for _, c := range overlayFaults {
		router := newCounted(t, c.document)
		for range 3 {
			_, r := router.Resolve(Query{Model: "m", Value: c.value, Lines: 1}, 0)
			if r == nil || string(r.AppendBody(nil)) != c.body {
				t.Errorf("%s: %v, want %s", c.name, r, c.body)
			}
		}
		if entries, _ := router.Len(); entries != 0 {
			t.Errorf("%s: a rejection is in the cache", c.name)
		}
	}
}

func TestRouterRefusesTwoLines(t *testing.T) {
	_, r := newCounted(t, both).Resolve(Query{Model: "m", Value: "sample", Lines: 2}, 0)
	if r == nil || r.Reason != MultipleLines {
		t.Errorf("rejected with %v, want %v", r, MultipleLines)
	}
}

func TestMemoAnswersLikeTheCache(t *testing.T) {
	c := newCounted(t, both)
	q := Query{RoutingKey: "k", Model: "m", Value: "PICK_two; count=03", Lines: 1}
	first := c.send(t, q, 0)
	if first.Result != Miss || first.Canonical != "sample;count=3" || first.Requested != "PICK_two" || first.Base != "default" {
		t.Errorf("first: %+v", first)
	}
	for i := range 4 {
		got := c.send(t, q, 0)
		if got.Result != Hit || got.Instance != first.Instance || got.Definition != first.Definition ||
			got.Canonical != first.Canonical || got.Requested != first.Requested || got.Base != first.Base {
			t.Errorf("repeat %d: %+v, want as %+v", i, got, first)
		}
	}
	other := q
	other.RoutingKey, other.Model = "", "km"
	if got := c.send(t, other, 0); got.Result != Miss || got.Instance == first.Instance {
		t.Errorf("another target with the same bytes in a row: %+v", got)
	}
	if got := c.send(t, q, idleTimeout); got.Result != Miss {
		t.Errorf("after the idle timeout: %v, want %v", got.Result, Miss)
	}
}

func TestMemoIsBounded(t *testing.T) {
	c := newCounted(t, both)
	for i := range 4 * memoEntries {
		q := Query{Model: "m", Value: "sample;low=1;high=" + strconv.Itoa(i+1), Lines: 1}
		c.send(t, q, 0)
		c.send(t, q, 0) // a hit of the cache goes into the memo
		if n := len(c.memo.found); n > memoEntries {
			t.Fatalf("%d entries in the memo, want at most %d", n, memoEntries)
		}
	}
	if n := len(c.memo.found); n != memoEntries {
		t.Errorf("%d entries in the memo, want %d", n, memoEntries)
	}
}

func TestRouterCopiesTheHeader(t *testing.T) {
	c := newCounted(t, both)
	raw := []byte("sticky;seed=aaaa")
	value := string(raw)
	first := c.send(t, Query{Model: "m", Value: value, Lines: 1}, 0)
	if !strings.Contains(first.Definition, `"seed":"aaaa"`) || first.Requested != "sticky" {
		t.Errorf("got %+v", first)
	}
}

func TestMethodOnlyIsTheConfiguredDefinition(t *testing.T) {
	c := newCounted(t, `{"default":"sticky"}`)
	plain := c.send(t, Query{Model: "m"}, 0)
	named := c.send(t, Query{Model: "m", Value: " Sticky ", Lines: 1}, 0)
	again := c.send(t, Query{Model: "m", Value: " Sticky ", Lines: 1}, 0)
	for _, got := range []Choice[string, *int]{named, again} {
		if got.Result != Uncached || got.Instance != plain.Instance || got.Canonical != "sticky" || got.Requested != "Sticky" {
			t.Errorf("got %+v, want the instance of a request without a header", got)
		}
	}
	if plain.Canonical != "" || plain.Requested != "" {
		t.Errorf("without a header: %+v", plain)
	}
	if other := c.send(t, Query{Model: "n"}, 0); other.Instance == plain.Instance {
		t.Error("two targets share the instance of a stateful algorithm")
	}
	if entries, _ := c.Len(); entries != 0 {
		t.Errorf("%d dynamic entries, want 0", entries)
	}
}

func TestNothingIsKeptWithoutEndpoints(t *testing.T) {
	c := newCounted(t, both)
	q := Query{Model: "ghost", Value: "sticky;seed=a", Lines: 1}
	for range 2 {
		choice, r := c.Resolve(q, 0)
		if r != nil {
			t.Fatal(r)
		}
		c.Settle(&choice, 0, 0)
		if choice.Result != Temporary || choice.Instance == nil {
			t.Errorf("result %v, want %v with an instance", choice.Result, Temporary)
		}
	}
	if entries, definitions := c.Len(); entries+definitions != 0 {
		t.Errorf("%d entries, %d definitions, want none", entries, definitions)
	}
}

func TestDropForgetsExactlyOneEntry(t *testing.T) {
	c := newCounted(t, both)
	queries := []Query{
		{RoutingKey: "k", Model: "m", Value: "sticky;seed=a", Lines: 1},
		{RoutingKey: "k", Model: "m", Value: "sticky;seed=b", Lines: 1},
		{RoutingKey: "", Model: "km", Value: "sticky;seed=a", Lines: 1},
	}
	for _, q := range queries {
		c.send(t, q, 0)
		c.send(t, q, 0) // so that the memo has it
	}
	c.Drop("k", "m", "sticky;seed=nothing")
	c.Drop("other", "m", "sticky;seed=a")
	if entries, _ := c.Len(); entries != 3 || len(c.evicted) != 0 {
		t.Errorf("%d entries after dropping what isn't there, want 3", entries)
	}
	c.Drop("k", "m", "sticky;seed=a")
	for i, want := range []Result{Miss, Hit, Hit} {
		if got := c.send(t, queries[i], 0); got.Result != want {
			t.Errorf("request %d: %v, want %v", i, got.Result, want)
		}
	}
}

func TestRequestsThatMissTogetherShareOneInstance(t *testing.T) {
	c := newCounted(t, both)
	q := Query{Model: "m", Value: "sticky;seed=a", Lines: 1}
	a, _ := c.Resolve(q, 0)
	b, _ := c.Resolve(q, 0)
	c.Settle(&a, 1, 0)
	c.Settle(&b, 1, 0)
	if a.Result != Miss || b.Result != Hit || a.Instance != b.Instance {
		t.Errorf("results %v and %v, same instance: %v", a.Result, b.Result, a.Instance == b.Instance)
	}
}

func TestAlternatingExpressionsAreNotRebuilt(t *testing.T) {
	c := newCounted(t, both)
	configured := c.compiled
	for i := range 100 {
		c.send(t, Query{Model: "m", Value: "sticky;seed=" + string('a'+byte(i%2)), Lines: 1}, time.Duration(i)*time.Second)
	}
	if n := c.compiled - configured; n != 2 {
		t.Errorf("compiled %d times, want 2", n)
	}
}

func TestRouterStaysBounded(t *testing.T) {
	c := newCounted(t, `{"default":"sticky"}`)
	for i := range 10_000 {
		s := strconv.Itoa(i)
		c.send(t, Query{RoutingKey: "k" + s, Model: "m", Value: "sticky;seed=a", Lines: 1}, 0)
		c.send(t, Query{RoutingKey: "k" + s, Model: "m"}, 0)
		c.send(t, Query{Model: "m", Value: "sticky;seed=s" + s, Lines: 1}, 0)
	}
	entries, definitions := c.Len()
	if entries != maxEntries || definitions > entries || c.static.count != maxEntries || len(c.memo.found) > memoEntries {
		t.Errorf("%d entries, %d definitions, %d configured instances, %d memoized",
			entries, definitions, c.static.count, len(c.memo.found))
	}
	c.Sweep(idleTimeout)
	if entries, definitions = c.Len(); entries+definitions+c.static.count != 0 {
		t.Errorf("%d entries, %d definitions, %d instances after all were idle", entries, definitions, c.static.count)
	}
}

func TestWarmResolveDoesNotAllocate(t *testing.T) {
	c := newCounted(t, `{"default":"sticky","request_algorithms":{"sample":"sample"}}`)
	for _, q := range []Query{
		{RoutingKey: "k", Model: "m"},
		{RoutingKey: "k", Model: "m", Value: "sticky", Lines: 1},
		{RoutingKey: "k", Model: "m", Value: "sample", Lines: 1},
		{RoutingKey: "k", Model: "m", Value: "sample;count=3", Lines: 1},
	} {
		for range 3 {
			c.send(t, q, 0)
		}
		if n := testing.AllocsPerRun(100, func() { c.send(t, q, 0) }); n != 0 {
			t.Errorf("%+v: %v allocations, want 0", q, n)
		}
	}
}

func TestGroupsOfEndpointsAreTargetsOfTheirOwn(t *testing.T) {
	c := newCounted(t, both)
	q := Query{Model: "m", Value: "sticky;seed=a", Lines: 1}
	one := c.send(t, q, 0)
	q.Group = 7
	other := c.send(t, q, 0)
	if one.Instance == other.Instance || one.Definition != other.Definition {
		t.Error("two groups share an instance, or not the definition")
	}
}

// TestClosedRouterKeepsNothing: what is under way stays as it is and doesn't come
// back.
func TestClosedRouterKeepsNothing(t *testing.T) {
	c := newCounted(t, both)
	kept := c.send(t, Query{Model: "m", Value: "sticky;seed=a", Lines: 1}, 0)
	before := kept
	pending, _ := c.Resolve(Query{Model: "m", Value: "sticky;seed=b", Lines: 1}, 0)
	c.Close()
	if entries, definitions := c.Len(); entries+definitions != 0 || c.evicted[ConfigChange] != 1 {
		t.Errorf("%d entries, %d definitions, evicted %v", entries, definitions, c.evicted)
	}
	if kept != before {
		t.Error("a request under way changed")
	}
	c.Settle(&kept, 1, 0)
	c.Settle(&pending, 1, 0)
	if entries, _ := c.Len(); entries != 0 {
		t.Errorf("%d entries came back", entries)
	}
}
