// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"math"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// Endpoint is one endpoint with its statistics at the moment of the pick. What
// isn't known is 0.
type Endpoint struct {
	ID       string
	Excluded bool // it failed for this request already

	RTT               float64 // ms, of the health check; finite and not negative
	TPS               float64 // prompt tokens/s; valid if finite and above 0
	QueuedInputTokens uint64  // prompt tokens waiting
	QueueSize         uint64  // requests without output so far
	Running           uint64  // requests that hold a scheduler slot
	MaxConcurrency    uint64  // scheduler slots; 0: not reported
	QueueTimes        []load.QueueTime

	KVCapacity, KVUsed, KVFree uint64 // tokens; all 0: not reported
}

// Request is what the algorithms need to know of a request.
type Request struct {
	RoutingKey  string
	Model       string
	AffinityKey string // "": none

	InputTokens    uint64 // prompt tokens
	HasInputTokens bool
	Priority       uint32        // lower is more urgent
	SLO            uint64        // ms; 0: none
	Elapsed        time.Duration // since the request was received
	Draw           uint64        // random bits, drawn once per request
	Now            time.Duration // since the start of the VM
}

// rate returns TPS where it is valid, else 0.
func (e *Endpoint) rate() float64 {
	if e.TPS > 0 && !math.IsInf(e.TPS, 1) {
		return e.TPS
	}
	return 0
}

// seconds returns how long e takes for so many prompt tokens: +Inf where there
// is work and no valid rate.
func (e *Endpoint) seconds(tokens float64) float64 {
	if tokens == 0 {
		return 0
	}
	if rate := e.rate(); rate > 0 {
		return tokens / rate
	}
	return math.Inf(1)
}

// prefill returns the ms that e computes the request's prompt for.
func (e *Endpoint) prefill(r *Request) float64 { return e.seconds(float64(r.InputTokens)) * 1000 }

// queue returns the ms that the request would wait on e: as published for its
// priority, else the queued tokens by rate, in whole ms. An endpoint that
// publishes only for less urgent requests has no queue for this one.
func (e *Endpoint) queue(r *Request) float64 {
	if len(e.QueueTimes) == 0 {
		return math.Ceil(e.seconds(float64(e.QueuedInputTokens)) * 1000)
	}
	wait := uint64(0)
	for _, q := range e.QueueTimes {
		if q.Priority > r.Priority {
			break
		}
		wait = q.Wait
	}
	return float64(wait)
}

// full reports whether e has no scheduler slot left and queued requests too.
func (e *Endpoint) full(queued uint64) bool {
	if e.MaxConcurrency == 0 {
		return false
	}
	room := e.MaxConcurrency + queued
	if room < queued {
		room = math.MaxUint64
	}
	return e.Running >= room
}

// holds reports whether e's KV cache is known to have room for the request.
func (e *Endpoint) holds(r *Request) bool {
	reported := e.KVCapacity|e.KVUsed|e.KVFree != 0
	return r.HasInputTokens && reported && e.KVFree >= r.InputTokens
}
