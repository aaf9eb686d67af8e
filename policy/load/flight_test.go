// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func testSpecs(n int) []Spec {
	var out []Spec
	for i := range n {
		out = append(out, Spec{ID: fmt.Sprintf("10.0.0.%d:8000", i), Healthy: true, Rate: 1000})
	}
	return out
}

// checkSums holds the invariant: an endpoint's sums are those of its live
// flights, whether it is listed or not.
func checkSums(t *testing.T, flights []*Flight, endpoints []*Endpoint) {
	t.Helper()
	tokens, live := map[*Endpoint]int64{}, map[*Endpoint]int{}
	for _, f := range flights {
		if e := f.Endpoint(); e != nil {
			tokens[e] += f.tokens
			live[e]++
		}
	}
	for _, e := range endpoints {
		if e.Queued() != tokens[e] || e.InFlight() != live[e] {
			t.Fatalf("%s: %d tokens of %d flights, its flights have %d of %d", e.ID, e.Queued(), e.InFlight(), tokens[e], live[e])
		}
	}
}

// TestFlightsNeverLeak plays random transitions, late ones and repeated ones
// among them, while endpoints leave and join.
func TestFlightsNeverLeak(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	all := testSpecs(5)
	var v View
	v.SetEndpoints(all)
	known := append([]*Endpoint(nil), v.Endpoints()...)
	flights := make([]*Flight, 40)
	for i := range flights {
		flights[i] = &Flight{}
	}
	now := time.Second
	for range 20_000 {
		now += time.Duration(random.IntN(50)) * time.Millisecond
		f := flights[random.IntN(len(flights))]
		switch random.IntN(9) {
		case 0, 1, 2:
			if n := len(v.Endpoints()); n > 0 {
				f.Start(v.Endpoints()[random.IntN(n)], Claim{int64(random.IntN(5000) - 10), random.IntN(2) == 0}, now)
			}
		case 3:
			f.First(now)
		case 4:
			f.Correct(int64(random.IntN(3000)))
		case 5, 6:
			f.End()
		case 7:
			v.Tick(now)
		case 8:
			list := append([]Spec(nil), all...)
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			known = append(known, v.SetEndpoints(list[:random.IntN(len(list)+1)]).Added...)
		}
		checkSums(t, flights, known)
	}
	for _, f := range flights {
		f.End()
	}
	for _, e := range known {
		if e.Queued() != 0 || e.InFlight() != 0 {
			t.Errorf("%s keeps %d tokens and %d flights after all have ended", e.ID, e.Queued(), e.InFlight())
		}
	}
}

func TestFlightTransitions(t *testing.T) {
	var v View
	v.SetEndpoints(testSpecs(2))
	a, b := v.Endpoints()[0], v.Endpoints()[1]
	var f Flight
	state := func() string {
		return fmt.Sprintf("%d/%d %d/%d", a.Queued(), a.InFlight(), b.Queued(), b.InFlight())
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"end before start", f.End, "0/0 0/0"},
		{"first before start", func() { f.First(time.Second) }, "0/0 0/0"},
		{"picked", func() { f.Start(a, Claim{700, true}, time.Second) }, "700/1 0/0"},
		{"retried on another", func() { f.Start(b, Claim{900, true}, time.Second) }, "0/0 900/1"},
		{"corrected by the whole body", func() { f.Correct(800) }, "0/0 800/1"},
		{"first byte", func() { f.First(2 * time.Second) }, "0/0 0/1"},
		{"first byte again", func() { f.First(3 * time.Second) }, "0/0 0/1"},
		{"corrected too late", func() { f.Correct(500) }, "0/0 0/1"},
		{"ended", f.End, "0/0 0/0"},
		{"ended again", f.End, "0/0 0/0"},
		{"picked with its length unknown", func() { f.Start(a, Claim{0, true}, 4*time.Second) }, "0/1 0/0"},
		{"the length shows", func() { f.Correct(600) }, "600/1 0/0"},
		{"moved", func() { f.Move(b, 5*time.Second) }, "0/0 600/1"},
		{"and done", f.End, "0/0 0/0"},
	} {
		step.do()
		if got := state(); got != step.want {
			t.Errorf("%s: tokens/flights %s, want %s", step.name, got, step.want)
		}
	}
}

// TestUnstreamedPrefillEndsByEstimate: 700 tokens behind 300 take a second at
// 1,000 tokens/s, and 3 % more for each request that is running.
func TestUnstreamedPrefillEndsByEstimate(t *testing.T) {
	var v View
	v.SetEndpoints(testSpecs(1))
	e := v.Endpoints()[0]
	var ahead, f Flight
	ahead.Start(e, Claim{300, true}, time.Second)
	f.Start(e, Claim{700, false}, time.Second)
	v.Tick(time.Second + 1020*time.Millisecond)
	if e.Queued() != 1000 {
		t.Errorf("%d tokens queued before the estimate, want 1000", e.Queued())
	}
	v.Tick(time.Second + 1040*time.Millisecond)
	if e.Queued() != 300 || e.InFlight() != 2 {
		t.Errorf("%d tokens of %d flights after the estimate, want 300 of 2", e.Queued(), e.InFlight())
	}
}

// TestCorrectionMovesTheEstimatedEnd: a claim that grows takes longer.
func TestCorrectionMovesTheEstimatedEnd(t *testing.T) {
	var v View
	v.SetEndpoints(testSpecs(1))
	var f Flight
	f.Start(v.Endpoints()[0], Claim{0, false}, time.Second)
	f.Correct(1000)
	v.Tick(1900 * time.Millisecond)
	if got := v.Endpoints()[0].Queued(); got != 1000 {
		t.Errorf("%d tokens queued after 0.9 s of a second's work, want 1000", got)
	}
	v.Tick(2100 * time.Millisecond)
	if got := v.Endpoints()[0].Queued(); got != 0 {
		t.Errorf("%d tokens queued after 1.1 s of a second's work, want 0", got)
	}
}
