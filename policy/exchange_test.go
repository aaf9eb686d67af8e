// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// worker is a pool over a table of its own, as each worker thread has one.
func worker(t *testing.T) *Pool {
	t.Helper()
	x, err := table.New(table.Config{Endpoints: 4, Slots: 4096, Nodes: 8192})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(Settings{}, DefaultPrefixAware(), x)
	p.SetEndpoints([]load.Spec{{ID: "10.0.0.1:80", Healthy: true}, {ID: "10.0.0.2:80", Healthy: true}})
	return p
}

func prompt(r *rand.Rand, blocks int) *Request {
	q := &Request{Tag: r.Uint64(), TagBytes: 700, TagKnown: true, Complete: true, Key: r.Uint64(), KeyKnown: true}
	end := uint32(0)
	for range blocks {
		end += 1 + uint32(r.IntN(1024))
		q.Hashes, q.Ends = append(q.Hashes, r.Uint64()), append(q.Ends, end)
	}
	q.Length = int(end) + q.TagBytes + 100
	return q
}

// TestAdoptedNewsAreWhatTheOtherLearnt: a worker that adopts only what is news
// believes the same as the one that serves.
func TestAdoptedNewsAreWhatTheOtherLearnt(t *testing.T) {
	a, b := worker(t), worker(t)
	r := rand.New(rand.NewPCG(1, 2))
	var talks []*Request
	for step := range 400 {
		q := prompt(r, 1+r.IntN(20))
		if len(talks) > 0 && r.IntN(2) == 0 { // another turn
			old := talks[r.IntN(len(talks))]
			more := prompt(r, 1+r.IntN(5))
			q.Tag, q.Hashes, q.Ends = old.Tag, append([]uint64(nil), old.Hashes...), append([]uint32(nil), old.Ends...)
			for i, h := range more.Hashes {
				q.Hashes, q.Ends = append(q.Hashes, h), append(q.Ends, old.Ends[len(old.Ends)-1]+more.Ends[i])
			}
		}
		talks = append(talks, q)
		q.Now = time.Duration(step) * time.Second
		at := r.IntN(2)
		e, f := a.View().Endpoints()[at], b.View().Endpoints()[at]
		known := a.Known(e, q)
		for x := range q.Placements(known, len(q.Hashes)) {
			b.Adopt(f, x, q.Now)
		}
		a.Learn(e, q, 0)
		if r.IntN(10) == 0 {
			a.Withdraw(e, q, known)
			for x := range q.Placements(known, len(q.Hashes)) {
				b.Drop(f, x)
			}
		}
		x, xBytes := a.table.Held(e.Index)
		y, yBytes := b.table.Held(f.Index)
		if x != y || xBytes != yBytes || a.Known(e, q) != b.Known(f, q) {
			t.Fatalf("step %d: one holds %d placements of %d bytes and knows %d blocks, the other %d of %d and %d",
				step, x, xBytes, a.Known(e, q), y, yBytes, b.Known(f, q))
		}
	}
}

func TestSinceTellsTheLastUse(t *testing.T) {
	p := worker(t)
	q := prompt(rand.New(rand.NewPCG(1, 2)), 3)
	e := p.View().Endpoints()[0]
	if _, ok := p.Since(e, q, 0); ok {
		t.Error("a block that nobody holds has been used")
	}
	q.Now = time.Second
	p.Learn(e, q, 0)
	q.Now = 5 * time.Second
	if d, ok := p.Since(e, q, 2); d != 4*time.Second || !ok {
		t.Errorf("Since = %v, %v; want 4s", d, ok)
	}
}

func TestPreferPutsTheKeeperFirst(t *testing.T) {
	p := worker(t)
	q := prompt(rand.New(rand.NewPCG(1, 2)), 8)
	q.Now = time.Second
	list := p.View().Endpoints()
	first, second := list[0], list[1]
	p.Learn(first, q, 0)
	p.Keep(second, 77, q.Now)
	if p.Keeper(77) != second || p.Keeper(78) != nil {
		t.Fatalf("Keeper = %v, %v; want the second and none", p.Keeper(77), p.Keeper(78))
	}
	d := p.Pick(nil, q)
	if d.First() != first {
		t.Fatalf("the pick is %s, not where the prompt is", d.First().ID)
	}
	p.Prefer(&d, second, q)
	if d.First() != second || d.Endpoints[1] != first || d.N != 2 || d.Match != 0 || d.Uncached != q.Length {
		t.Errorf("decision = %s, %s, N %d, match %d, uncached %d", d.First().ID, d.Endpoints[1].ID, d.N, d.Match, d.Uncached)
	}
	p.Restarted(second)
	if p.Keeper(77) != nil {
		t.Error("an engine that has restarted still keeps an answer")
	}
	for range 5 {
		first.Fail(q.Now)
	}
	before := d
	if p.Prefer(&d, first, q); d != before {
		t.Error("an endpoint whose circuit is open is preferred")
	}
}
