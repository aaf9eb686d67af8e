// SPDX-License-Identifier: Apache-2.0

package load

import "time"

// Flight is one live stream's claim on an endpoint: picked → first response
// byte → ended. It is a field of the stream's context and must not be copied
// while it is in use. The zero value claims nothing, and every transition may
// come twice, late, or not at all before the next one, without an effect on
// the sums beyond its own.
//
// Invariant: an endpoint's sums are those of the flights in its ring. A flight
// is in exactly one ring from Start to End, so a stream that is aborted, reset,
// retried or answered locally gives back what it took as soon as its End is
// called, and an endpoint that leaves takes its ring along.
type Flight struct {
	endpoint   *Endpoint
	next, prev *Flight
	tokens     int64         // still queued; 0 after the first response byte
	claimed    int64         // what tokens was at the start
	started    time.Duration // when it was picked
	due        time.Duration // when the prefill ends by our estimate; 0 = the first byte tells
	alone      bool          // little was queued when it started: its first byte shows the prefill rate
	first      time.Duration // when the first response byte came; 0 = not yet
	trial      bool          // the one request of a half-open circuit
}

// Claim is what a stream takes when it is sent to an endpoint.
type Claim struct {
	Tokens   int64 // prompt tokens the endpoint has to compute
	Streamed bool  // the answer's first byte marks the first token
}

// Start sends f to e. A claim that f still holds, as after a retry, ends first.
func (f *Flight) Start(e *Endpoint, c Claim, now time.Duration) {
	f.End()
	*f = Flight{endpoint: e, tokens: max(c.Tokens, 0), claimed: max(c.Tokens, 0), started: now}
	ahead := e.Queue()
	f.alone = c.Streamed && ahead <= aloneShare*float64(f.tokens) && f.tokens >= aloneTokens
	if !c.Streamed {
		seconds := (ahead + float64(f.tokens)) * e.pace()
		f.due = now + time.Duration(seconds*float64(time.Second))
	}
	f.trial = e.failures.try()
	ring := &e.flights
	f.prev, f.next = ring.prev, ring
	ring.prev.next, ring.prev = f, f
	e.queued += f.tokens
	e.inFlight++
	e.publish()
	if e.view != nil {
		e.view.meanUncached += (float64(f.tokens) - e.view.meanUncached) * meanStep
	}
}

// First tells that the answer's first body byte has come: the prompt is
// computed. For a streamed answer it shows the endpoint's prefill rate too.
func (f *Flight) First(now time.Duration) {
	if f.endpoint == nil || f.first != 0 {
		return
	}
	f.first = now
	if f.alone && now > f.started {
		f.endpoint.Prefill.Observe(float64(f.claimed) / (now - f.started).Seconds())
	}
	f.release()
	f.endpoint.publish()
}

// Timed reports whether First learns from its time, so that it should be exact.
func (f *Flight) Timed() bool { return f.endpoint != nil && f.first == 0 && f.alone }

// Correct replaces the prompt tokens that the claim was made with, where the
// whole body has shown them to be others. Without effect once they are computed.
// A claim of none is one of a request whose length wasn't known.
func (f *Flight) Correct(tokens int64) {
	if f.endpoint == nil || f.first != 0 || f.tokens == 0 && f.claimed > 0 {
		return
	}
	tokens = max(tokens, 0)
	more := tokens - f.tokens
	f.endpoint.queued += more
	f.tokens, f.claimed = tokens, tokens
	if f.due != 0 {
		f.due += time.Duration(float64(more) * f.endpoint.pace() * float64(time.Second))
	}
	f.endpoint.publish()
}

// End gives back all that f still holds.
func (f *Flight) End() {
	e := f.endpoint
	if e == nil {
		return
	}
	f.release()
	e.inFlight--
	f.prev.next, f.next.prev = f.next, f.prev
	if f.trial {
		e.failures.trying = false
	}
	e.publish()
	f.endpoint, f.next, f.prev = nil, nil, nil
}

// Endpoint is the endpoint that f is sent to, nil if none.
func (f *Flight) Endpoint() *Endpoint { return f.endpoint }

// Queued is the prompt tokens that f still has in its endpoint's queue.
func (f *Flight) Queued() int64 { return f.tokens }

// Move sends f on to e, which serves in the place of the endpoint it was sent
// to, with the tokens that were still queued there. Since when e has had it is
// not known, so it shows no rate.
func (f *Flight) Move(e *Endpoint, now time.Duration) {
	f.Start(e, Claim{Tokens: f.tokens, Streamed: f.due == 0}, now)
	f.alone = false
}

// release takes the queued tokens off the endpoint.
func (f *Flight) release() {
	f.endpoint.queued -= f.tokens
	f.tokens = 0
}

const (
	// A first token is taken as a sample of the rate if what was queued ahead
	// is at most this share of the request's own tokens …
	aloneShare = 0.1
	// … and these are enough for fixed costs (network, scheduling, one decode
	// step) to be small beside them.
	aloneTokens = 512
	// Step of the moving average of uncached tokens: about the last 64 picks.
	meanStep = 1.0 / 64
)
