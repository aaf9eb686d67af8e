// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"time"
)

// None is the Index of an endpoint without a place in the placement table.
const None = -1

// Spec is what the operator or Envoy's host list says of an endpoint.
type Spec struct {
	ID       string  // address as Envoy names it, "ip:port"; unique in its pool
	Capacity uint64  // KV cache in canonical bytes; 0 = unknown
	Weight   float64 // share for rendezvous hashing; 0 = 1. From capacity only, never from load
	Rate     float64 // prefill tokens/s; 0 = learn it
	Healthy  bool    // Envoy would send requests there
	Draining bool    // finishes what it has, takes nothing
	Far      bool    // in another zone than this Envoy
}

// Stats is what an engine reports of itself. A number that is not reported is 0.
type Stats struct {
	At             time.Duration // when the engine said so; 0 = never
	Waiting        float64       // requests without a first token that no scheduler slot has taken
	Running        float64       // requests that hold a scheduler slot
	QueuedTokens   float64       // prompt tokens waiting, where the engine counts them
	MaxConcurrency float64       // scheduler slots; 0 = not reported
	KVUse          float64       // share of the KV cache in use, 0 … 1
	KVCapacity     float64       // tokens; KVCapacity, KVUsed, KVFree all 0 = not reported
	KVUsed         float64       // tokens
	KVFree         float64       // tokens
	InputRate      float64       // mean prefill tokens/s as published; valid if > 0
	RTT            time.Duration // round trip of the last health check
	QueueTimes     []QueueTime   // by ascending priority; empty = not published
}

// Known reports whether s says anything at this moment: the engine has spoken,
// and not longer ago than its words have weight.
func (s *Stats) Known(now time.Duration) bool {
	return s.At > 0 && now-s.At < unknownAfter
}

// QueueTime is a published estimate of the wait in the queue for requests of
// at least this priority (lower is more urgent).
type QueueTime struct {
	Priority uint32
	Wait     uint64 // ms
}

// Share is what other workers of this gateway have in flight on an endpoint.
type Share struct {
	Queued   float64 // prompt tokens still to be computed
	InFlight float64 // requests that have not ended
}

// Endpoint is one serving address of a pool with all that is known of its load.
//
// Its own sums are derived from the Flights that name it: queued is the sum of
// their tokens, inFlight their number. Only Flight and View.Tick change them.
// Whatever changes an endpoint updates its Quote in the view by publish.
type Endpoint struct {
	Spec
	Index   int   // place in the placement table, None if it has none; set by Place
	Stats   Stats // as last reported
	Prefill Rate  // prompt tokens/s while nothing else is queued

	view     *View // nil once it is no longer listed
	at       int   // position in the view
	flights  Flight
	queued   int64
	inFlight int
	others   Share
	foreign  Share   // what the statistics show beyond own and others, at Stats.At
	external Share   // foreign, faded by its age
	pressure float64 // seconds that a KV cache in its last tenth and a full queue cost
	failures failures
	past     [historyTicks]sums // own and others at the view's last ticks
}

// Queued is the prompt tokens of our own streams that e has yet to compute.
func (e *Endpoint) Queued() int64 { return e.queued }

// InFlight is the number of our own streams that e serves.
func (e *Endpoint) InFlight() int { return e.inFlight }

// Queue is the prompt tokens ahead of a request that is sent to e: own, other
// workers' and external ones, the last faded by their age at the last Tick.
func (e *Endpoint) Queue() float64 {
	return float64(e.queued) + e.others.Queued + e.external.Queued
}

// Running is the number of requests e is busy with, counted as Queue counts.
func (e *Endpoint) Running() float64 {
	return float64(e.inFlight) + e.others.InFlight + e.external.InFlight
}

// Present is what Queue and Running count, but with the statistics at their full
// weight however old they are: for algorithms that take them as they come.
func (e *Endpoint) Present() Share {
	return Share{
		Queued:   float64(e.queued) + e.others.Queued + e.foreign.Queued,
		InFlight: float64(e.inFlight) + e.others.InFlight + e.foreign.InFlight,
	}
}

// Ready reports whether e may be chosen: healthy, not draining, and its
// circuit closed or due for a trial.
func (e *Endpoint) Ready(now time.Duration) bool {
	return e.Healthy && !e.Draining && (!e.failures.open || e.failures.due(now))
}

// Listed reports whether e is still an endpoint of its pool.
func (e *Endpoint) Listed() bool { return e.view != nil }

// Place sets e's place in the placement table.
func (e *Endpoint) Place(index int) {
	e.Index = index
	e.publish()
}

// SetOthers takes what other workers of this gateway have in flight on e.
func (e *Endpoint) SetOthers(s Share) {
	e.others = s
	e.publish()
}

// penalty is what choosing e costs beyond its queue, in seconds: 2 ms for each
// running request (its decode steps come between ours), up to one second as the
// KV cache fills its last tenth, a full queue, and the back-off after failures.
func (e *Endpoint) penalty() float64 {
	return decodeSeconds*e.Running() + e.pressure + e.failures.left
}

// pace is the seconds that a prompt token takes on e with what it is running:
// each running request takes 3 % of the pace of an idle engine.
func (e *Endpoint) pace() float64 {
	return (1 + decodeSlowdown*e.Running()) / e.Prefill.Value()
}

// Quote is what a pick reads of an endpoint. The quotes of a pool lie side by
// side, so that a pick among a thousand endpoints stays within the CPU's first
// cache.
type Quote struct {
	Wait  float64 // seconds until a request sent there is begun, penalties included
	Pace  float64 // seconds for each of its uncached prompt tokens
	Index int32   // place in the placement table
	State State
}

// State says whether an endpoint may be chosen.
type State uint8

const (
	Ready State = iota
	Blocked
	Tripped // its circuit is open: Endpoint.Ready knows
)

// publish brings e's quote up to date.
func (e *Endpoint) publish() {
	if e.view == nil {
		return
	}
	q := &e.view.quotes[e.at]
	pace := e.pace()
	if e.Far {
		pace *= e.view.farFactor()
	}
	q.Pace = pace
	q.Wait = e.Queue()*pace + e.penalty()
	q.Index = int32(e.Index)
	was := q.State
	switch {
	case !e.Healthy || e.Draining:
		q.State = Blocked
	case e.failures.open:
		q.State = Tripped
	default:
		q.State = Ready
	}
	if was == Ready && q.State != Ready {
		e.view.closed++
	} else if was != Ready && q.State == Ready {
		e.view.closed--
	}
}

const (
	halfLife       = 2 * time.Second  // statistics lose half of their weight in this time
	unknownAfter   = 10 * time.Second // five half-lives: 3 % of the weight is left
	decodeSeconds  = 0.002            // cost of one running request
	decodeSlowdown = 0.03             // share of the pace that one running request takes
	kvFull         = 0.9              // KV use from which engines begin to preempt
)

// derive takes what the statistics show, and failures, at their weight at this moment.
func (e *Endpoint) derive(now time.Duration) {
	weight := 0.0
	if e.Stats.Known(now) {
		weight = fade(now - e.Stats.At)
	}
	e.external = Share{Queued: e.foreign.Queued * weight, InFlight: e.foreign.InFlight * weight}
	e.pressure = 0
	if weight > 0 {
		e.pressure = min(max(e.Stats.KVUse-kvFull, 0)/(1-kvFull), 1) + weight*e.full()
	}
	e.failures.fade(now)
	e.publish()
}

// fade is the weight of known statistics of this age: 2^(−age/half-life).
func fade(age time.Duration) float64 {
	return math.Exp2(-max(age, 0).Seconds() / halfLife.Seconds())
}
