// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestSetEndpointsKeepsWhoStays(t *testing.T) {
	var v View
	first := v.SetEndpoints(testSpecs(3))
	if len(first.Added) != 3 || len(first.Removed) != 0 {
		t.Fatalf("added %d, removed %d, want 3 and 0", len(first.Added), len(first.Removed))
	}
	b := v.Find("10.0.0.1:8000")
	var f Flight
	f.Start(b, Claim{500, true}, time.Second)
	next := testSpecs(4)[1:]
	slices.Reverse(next)
	next[0].Draining = true
	c := v.SetEndpoints(next)
	if len(c.Added) != 1 || c.Added[0].ID != "10.0.0.3:8000" || len(c.Removed) != 1 || c.Removed[0].ID != "10.0.0.0:8000" {
		t.Fatalf("added %v, removed %v", c.Added, c.Removed)
	}
	if v.Find("10.0.0.1:8000") != b || b.Queued() != 500 || !b.Listed() || c.Removed[0].Listed() {
		t.Error("who stays did not keep its address and flights")
	}
	ids := []string{}
	for _, e := range v.Endpoints() {
		ids = append(ids, e.ID)
	}
	if !slices.IsSorted(ids) || len(ids) != 3 {
		t.Errorf("endpoints %v", ids)
	}
	if v.Quotes()[2].State != Blocked || v.AllReady() {
		t.Error("a draining endpoint is ready")
	}
}

func TestSetEndpointsTakesTheLastOfEqualIDs(t *testing.T) {
	var v View
	s := testSpecs(1)[0]
	twin := s
	twin.Far = true
	v.SetEndpoints([]Spec{s, twin})
	if len(v.Endpoints()) != 1 || !v.Endpoints()[0].Far {
		t.Errorf("%d endpoints, far %v", len(v.Endpoints()), v.Endpoints()[0].Far)
	}
}

// TestReportCountsForeignRequests: of 3 waiting and 5 running requests two are
// ours; at most the three that wait have their prompt before them.
func TestReportCountsForeignRequests(t *testing.T) {
	var v View
	v.SetEndpoints(testSpecs(1))
	e := v.Endpoints()[0]
	flights := make([]Flight, 500)
	for i := range flights {
		flights[i].Start(e, Claim{1000, true}, time.Second)
		if i > 1 {
			flights[i].End()
		}
	}
	v.Report(e, Stats{At: time.Second, Waiting: 3, Running: 5})
	if got := e.Running(); got != 8 {
		t.Errorf("running %v, want 8", got)
	}
	if got := e.Queue() - 2000; math.Abs(got-3000) > 50 {
		t.Errorf("external queue %.0f, want 3 requests of 1,000 tokens", got)
	}
	v.Report(e, Stats{At: time.Second, Waiting: 3, Running: 5, QueuedTokens: 9000})
	if got := e.Queue(); got != 9000 {
		t.Errorf("queue %.0f, the engine counts 9,000 tokens", got)
	}
}

func TestStatisticsFadeAndAreForgotten(t *testing.T) {
	for _, test := range []struct {
		age  time.Duration
		want float64
	}{
		{0, 1},
		{2 * time.Second, 0.5},
		{4 * time.Second, 0.25},
		{10 * time.Second, 0},
		{time.Hour, 0},
	} {
		var v View
		v.SetEndpoints(testSpecs(1))
		e := v.Endpoints()[0]
		v.Report(e, Stats{At: time.Minute, Waiting: 4, QueuedTokens: 8000, KVUse: 1})
		v.Tick(time.Minute + test.age)
		if got := e.Queue() / 8000; math.Abs(got-test.want) > 1e-9 {
			t.Errorf("after %v the statistics weigh %.3f, want %.3f", test.age, got, test.want)
		}
		if full := e.pressure > 0; full != (test.want > 0) {
			t.Errorf("after %v a full KV cache costs %.2f s", test.age, e.pressure)
		}
	}
}

// TestQuoteIsWhatTheEndpointSays compares every quote with its endpoint after
// each kind of change.
func TestQuoteIsWhatTheEndpointSays(t *testing.T) {
	v := View{FarFactor: 1.25}
	specs := testSpecs(2)
	specs[1].Far = true
	v.SetEndpoints(specs)
	check := func(step string) {
		t.Helper()
		for at, e := range v.Endpoints() {
			q := v.Quotes()[at]
			pace := e.pace()
			if e.Far {
				pace *= 1.25
			}
			if q.Pace != pace || math.Abs(q.Wait-e.Queue()*pace-e.penalty()) > 1e-12 || int(q.Index) != e.Index {
				t.Errorf("after %s: quote %+v of %s, want pace %v, wait %v", step, q, e.ID, pace, e.Queue()*pace+e.penalty())
			}
		}
	}
	e := v.Endpoints()[1]
	var f Flight
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"joining", func() {}},
		{"Place", func() { e.Place(5) }},
		{"Start", func() { f.Start(e, Claim{900, true}, time.Second) }},
		{"Correct", func() { f.Correct(600) }},
		{"SetOthers", func() { e.SetOthers(Share{Queued: 50, InFlight: 2}) }},
		{"Report", func() { v.Report(e, Stats{At: time.Second, Waiting: 9, Running: 9, KVUse: 0.95}) }},
		{"Tick", func() { v.Tick(3 * time.Second) }},
		{"First", func() { f.First(2 * time.Second) }},
		{"Fail", func() { e.Fail(3 * time.Second) }},
		{"Succeed", e.Succeed},
		{"End", f.End},
	} {
		step.do()
		check(step.name)
	}
}

func TestStatsAreKnownForTenSeconds(t *testing.T) {
	for _, c := range []struct {
		name    string
		at, now time.Duration
		want    bool
	}{
		{"never reported", 0, time.Second, false},
		{"at once", time.Second, time.Second, true},
		{"just before", time.Second, 11*time.Second - 1, true},
		{"too old", time.Second, 11 * time.Second, false},
	} {
		s := Stats{At: c.at}
		if got := s.Known(c.now); got != c.want {
			t.Errorf("%s: Known(%v) of a report at %v = %t", c.name, c.now, c.at, got)
		}
	}
}
