// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"testing"
	"time"
)

func failing(t *testing.T) (*View, *Endpoint) {
	t.Helper()
	v := &View{}
	v.SetEndpoints(testSpecs(1))
	return v, v.Endpoints()[0]
}

func TestFailureCostsItsBackOffAndFades(t *testing.T) {
	v, e := failing(t)
	now := time.Minute
	want := []float64{1, 2, 4, 8, 16, 30, 30}
	for i, seconds := range want {
		now += time.Hour // far apart: the circuit stays closed
		e.Fail(now)
		if got := v.Quotes()[0].Wait; math.Abs(got-seconds) > 1e-9 {
			t.Errorf("failure %d costs %.3f s, want %.0f", i+1, got, seconds)
		}
	}
	v.Tick(now + 20*time.Second)
	if got := v.Quotes()[0].Wait; math.Abs(got-10) > 1e-9 {
		t.Errorf("20 s later it costs %.3f s, want 10", got)
	}
	e.Succeed()
	if got := v.Quotes()[0].Wait; got != 0 {
		t.Errorf("after a success it costs %.3f s", got)
	}
	if e.Open() {
		t.Error("failures an hour apart open the circuit")
	}
}

func TestCircuit(t *testing.T) {
	v, e := failing(t)
	now := time.Minute
	for i := range 5 {
		if !e.Ready(now) || !v.AllReady() {
			t.Fatalf("closed to requests after %d failures", i)
		}
		now += time.Second
		e.Fail(now)
	}
	if e.Ready(now) || v.AllReady() {
		t.Fatal("open to requests after five failures in ten seconds")
	}
	now += 16 * time.Second // the back-off of the fifth
	if !e.Ready(now) {
		t.Fatal("no trial when the back-off is over")
	}
	var trial Flight
	trial.Start(e, Claim{Tokens: 1, Streamed: true}, now)
	if e.Ready(now) {
		t.Fatal("a second request while the trial is under way")
	}
	t.Run("trial without outcome", func(t *testing.T) {
		trial.End()
		if !e.Ready(now) {
			t.Fatal("the trial was aborted, and no other is let through")
		}
	})
	t.Run("trial fails", func(t *testing.T) {
		trial.Start(e, Claim{Tokens: 1, Streamed: true}, now)
		e.Fail(now)
		trial.End()
		if e.Ready(now + 29*time.Second) {
			t.Error("open to requests before the doubled back-off is over")
		}
	})
	t.Run("trial succeeds", func(t *testing.T) {
		now += 30 * time.Second
		trial.Start(e, Claim{Tokens: 1, Streamed: true}, now)
		e.Succeed()
		trial.End()
		if !e.Ready(now) || !v.AllReady() || e.Open() {
			t.Error("closed to requests after a successful trial")
		}
	})
}

func TestFailuresFarApartKeepTheCircuitClosed(t *testing.T) {
	_, e := failing(t)
	now := time.Minute
	for range 20 {
		now += 3 * time.Second // four within ten seconds
		e.Fail(now)
	}
	if e.Open() {
		t.Error("four failures in ten seconds open the circuit")
	}
}
