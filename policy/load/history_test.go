// SPDX-License-Identifier: Apache-2.0

package load

import (
	"testing"
	"time"
)

// oneEndpoint is a view of one endpoint, and a clock that ticks it.
func oneEndpoint() (v *View, e *Endpoint, tick func(n int) time.Duration) {
	v = &View{WaitingLimit: 10}
	v.SetEndpoints([]Spec{{ID: "10.0.0.1:80", Healthy: true}})
	now := time.Minute
	return v, v.Find("10.0.0.1:80"), func(n int) time.Duration {
		for range n {
			now += 50 * time.Millisecond
			v.Tick(now)
		}
		return now
	}
}

func TestReportIsComparedWithWhatWasInFlightThen(t *testing.T) {
	v, e, tick := oneEndpoint()
	var flights [3]Flight
	tick(1)
	flights[0].Start(e, Claim{Tokens: 1000, Streamed: true}, 0)
	flights[1].Start(e, Claim{Tokens: 1000, Streamed: true}, 0)
	spoke := tick(4)
	flights[0].End()
	flights[1].End()
	arrived := tick(3)
	v.Report(e, Stats{At: spoke, Waiting: 1, Running: 1})
	if e.Running() != 0 {
		t.Errorf("both requests it spoke of were ours, and have ended: running %v, want 0", e.Running())
	}
	flights[2].Start(e, Claim{Tokens: 1000, Streamed: true}, arrived)
	v.Report(e, Stats{At: spoke, Waiting: 3, Running: 1})
	if got := e.Running(); got != 3 {
		t.Errorf("two foreign ones then, one of ours since: running %v, want 3", got)
	}
	v.Report(e, Stats{At: arrived, Running: 3})
	if got := e.Running(); got != 1+2 {
		t.Errorf("spoken at the last tick: running %v, want 3", got)
	}
}

func TestHistoryReachesBackTwoSeconds(t *testing.T) {
	v, e, tick := oneEndpoint()
	var f Flight
	f.Start(e, Claim{Tokens: 10, Streamed: true}, 0)
	began := tick(historyTicks)
	f.End()
	for range historyTicks {
		at := tick(1)
		if ours := v.oursAt(e, at-time.Millisecond); at > began+100*time.Millisecond && ours.InFlight != 0 {
			t.Fatalf("%v after the end: in flight %v, want 0", at-began, ours.InFlight)
		}
	}
	if got := v.oursAt(e, began); got != (Share{}) {
		t.Errorf("further back than the history: %v, want the oldest known, 0", got)
	}
	before := v.history.next
	v.Tick(tick(0) + time.Millisecond)
	if v.history.next != before {
		t.Error("a tick 1 ms after the last shortens the history")
	}
}

func TestFullQueueMovesWarmConversations(t *testing.T) {
	v, e, tick := oneEndpoint()
	now := tick(1)
	for _, c := range []struct {
		waiting, want float64
	}{{0, 0}, {10, 0}, {15, fullSeconds / 2}, {20, fullSeconds}, {1000, fullSeconds}} {
		v.Report(e, Stats{At: now, Waiting: c.waiting})
		if e.pressure != c.want {
			t.Errorf("%v waiting: %v s, want %v", c.waiting, e.pressure, c.want)
		}
	}
	later := now + halfLife
	v.Tick(later)
	if e.pressure != fullSeconds/2 {
		t.Errorf("after a half-life: %v s, want %v", e.pressure, fullSeconds/2)
	}
	v.WaitingLimit = 0
	v.Report(e, Stats{At: later, Waiting: 1000})
	if e.pressure != 0 {
		t.Errorf("without a limit: %v s, want 0", e.pressure)
	}
}
