// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// stream is one request.
//
//	fresh ──> waiting ──> sent ──> (fresh again, among the filter's spares)
//	  ├──────────────────> sent       the headers alone decide
//	  └──────────────────> bypassed   not ours, or nothing to choose
//
// The reader is there from the first wish to see the body until the placement
// is learnt; the flight from the choice until the stream's end.
type stream struct {
	types.DefaultHttpContext
	filter *filter
	id     uint32
	phase  phase
	pool   *pool
	reader *reader
	length int  // content-length, -1 if there is none
	forged bool // the client names a destination itself

	place    int           // in filter.waiting
	began    time.Duration // when the wait began
	silent   int           // ticks since the last byte
	released time.Duration // when a tick released it before any byte came; 0 = it did not

	choice   policy.Decision
	steered  bool // the destination header is ours
	answered bool // response headers have come
	flight   load.Flight
}

// phase is where a stream stands.
type phase uint8

const (
	fresh phase = iota
	waiting
	sent
	bypassed
)

// OnHttpRequestHeaders decides whether the request is ours, and whether its
// headers wait for the body.
func (s *stream) OnHttpRequestHeaders(_ int, end bool) types.Action {
	r := classify(s.filter.headers(requestHeaders), &s.filter.shapes)
	s.length, s.forged = r.length, r.forged
	if r.why == none {
		r.why = s.open(r.shape, end)
	}
	switch {
	case r.why != none:
		s.bypass(r.why)
	case !s.mayWait():
		s.choose(decidedHeader)
	default:
		s.wait()
		return requestPaused
	}
	return types.ActionContinue
}

// open finds the pool and a reader for the request.
func (s *stream) open(shape prefix.Shape, end bool) reason {
	if end {
		return noBody
	}
	if s.pool = s.filter.poolOf(); s.pool == nil {
		return noPool
	}
	if s.reader = s.filter.readers.borrow(&s.filter.prompt, shape); s.reader == nil {
		return noReader
	}
	s.filter.metrics.add(requests, 1)
	return none
}

// mayWait reports whether Envoy is believed to show the body while the headers
// wait.
func (s *stream) mayWait() bool {
	switch s.filter.config.body {
	case bodyOn:
		return true
	case bodyOff:
		return false
	}
	return s.filter.probe.mayWait(s.filter.clock)
}

// bypass leaves the request to Envoy's load balancer.
func (s *stream) bypass(why reason) {
	s.phase = bypassed
	s.filter.metrics.bypass(why)
	s.closeReader()
	s.disarm()
}

// disarm removes a client's own destination where ours does not overwrite it.
func (s *stream) disarm() {
	if s.forged {
		s.filter.metrics.add(forged, 1)
		s.filter.removeHeader(requestHeaders, destinationHeader)
	}
}

func (s *stream) closeReader() {
	s.filter.readers.giveBack(s.reader)
	s.reader = nil
}

// wait puts the stream among those whose headers wait.
func (s *stream) wait() {
	s.phase = waiting
	s.began, s.silent = s.filter.clock, 0
	s.place = len(s.filter.waiting)
	s.filter.waiting = append(s.filter.waiting, s)
}

// leave takes the stream from those that wait.
func (s *stream) leave() {
	if s.phase != waiting {
		return
	}
	list := s.filter.waiting
	last := list[len(list)-1]
	list[s.place], last.place = last, s.place
	list[len(list)-1] = nil
	s.filter.waiting = list[:len(list)-1]
}

// OnHttpRequestBody scans what has come, decides as soon as the choice is
// final or the wait is over, and learns at the end.
func (s *stream) OnHttpRequestBody(size int, end bool) types.Action {
	if s.reader == nil {
		return types.ActionContinue
	}
	s.watch(size)
	s.read(size, end)
	if s.phase == waiting && !s.decided() {
		return bodyHeld
	}
	s.learn()
	return types.ActionContinue
}

// OnHttpRequestTrailers ends the body.
func (s *stream) OnHttpRequestTrailers(int) types.Action {
	return s.OnHttpRequestBody(0, true)
}

// watch tells the probe what this chunk shows about the flag.
func (s *stream) watch(size int) {
	s.silent = 0
	switch {
	case size == 0:
	case s.phase == waiting:
		s.filter.probe.shown()
	case s.released != 0:
		now := s.filter.time()
		s.filter.metrics.add(lateBodies, 1)
		if s.filter.probe.late(now-s.released, now) {
			s.filter.log(logWarn, "kvsteer: Envoy does not show bodies while headers wait; set allow_on_headers_stop_iteration. Until then requests go by their headers alone.")
		}
		s.released = 0
	}
}

// read scans a chunk, in windows that fit the arena.
func (s *stream) read(size int, end bool) {
	for at := 0; at < size; at += bodyWindow {
		s.reader.Write(s.filter.body(requestBody, at, min(bodyWindow, size-at)))
	}
	if end {
		s.reader.end()
	}
}

// decided ends the wait if it is time to, and reports whether it has.
func (s *stream) decided() bool {
	r := s.reader
	switch {
	case r.Reason() != 0:
		s.filter.metrics.noPrompt(r.Reason())
		s.leave()
		s.bypass(noPrompt)
	case r.ended:
		s.choose(decidedWhole)
	case r.grown() && s.chooseEarly():
	case r.Raw() >= s.filter.config.wait.bytes:
		s.choose(decidedBytes)
	default:
		return false
	}
	return true
}

// endWait decides from a tick, outside the stream's own callbacks, and lets
// the request go.
func (s *stream) endWait(how counter) {
	if s.reader.Raw() == 0 {
		s.released = s.filter.time()
	}
	s.filter.setContext(s.id)
	s.choose(how)
	s.filter.continueRequest()
}

// choose picks with what is known of the request.
func (s *stream) choose(how counter) {
	r := s.reader.ask(s.length, s.filter.time())
	s.send(s.pool.Pick(nil, r), r, how)
}

// chooseEarly picks if the rest of the body can't change the first choice.
func (s *stream) chooseEarly() bool {
	r := s.reader.ask(s.length, s.filter.clock)
	d, ok := s.pool.Early(nil, r)
	if ok {
		s.send(d, r, decidedEarly)
	}
	return ok
}

// send makes the decision take effect.
func (s *stream) send(d policy.Decision, r *policy.Request, how counter) {
	s.leave()
	if d.N == 0 {
		s.bypass(noEndpoint)
		return
	}
	m := &s.filter.metrics
	m.add(how, 1)
	m.add(promptBytes, r.Length)
	m.add(matchedBytes, d.Match)
	s.phase, s.choice = sent, d
	if s.steered = s.filter.config.steers(r); s.steered {
		m.add(steers, 1)
		s.filter.setHeader(requestHeaders, destinationHeader, s.filter.destination(&d))
		s.fly(d.First(), r)
	} else {
		m.add(observed, 1)
		s.disarm()
	}
}

// fly counts the request in at the endpoint it is sent to.
func (s *stream) fly(e *load.Endpoint, r *policy.Request) {
	s.filter.metrics.add(flightsStarted, 1)
	s.pool.Start(&s.flight, e, &s.choice, r, s.reader.Stream())
}

// learn notes the placement once the body is complete and it is known where it
// goes. Of a request that is only observed the response tells.
func (s *stream) learn() {
	e := s.flight.Endpoint()
	if s.reader == nil || !s.reader.ended || e == nil {
		return
	}
	if s.reader.Reason() == 0 {
		s.filter.metrics.add(learned, 1)
		s.pool.Learn(e, s.reader.ask(s.length, s.filter.clock), 0)
	} else {
		s.filter.metrics.noPrompt(s.reader.Reason())
	}
	s.closeReader()
}

// OnHttpResponseHeaders notes who answered and how.
func (s *stream) OnHttpResponseHeaders(int, bool) types.Action {
	if s.phase != sent {
		return types.ActionContinue
	}
	s.answered = true
	served := s.servedBy()
	switch {
	case served == nil:
	case !s.steered && s.reader != nil:
		s.fly(served, s.reader.ask(s.length, s.filter.clock))
		s.learn()
	case s.steered && served != s.flight.Endpoint():
		s.filter.metrics.add(movedOn, 1)
		s.flight.Move(served, s.filter.clock)
	}
	if s.filter.config.receipt {
		s.filter.setHeader(responseHeaders, decisionHeader, s.receipt())
	}
	return types.ActionContinue
}

// servedBy is the endpoint that answers, nil for one that is none of the
// pool's (or for a local reply).
func (s *stream) servedBy() *load.Endpoint {
	address, ok := s.filter.property("upstream\x00address")
	if !ok {
		return nil
	}
	return s.pool.View().Find(unsafe.String(unsafe.SliceData(address), len(address)))
}

// OnHttpResponseBody tells the first token of a streamed answer: engines send
// the headers before the prefill ends.
func (s *stream) OnHttpResponseBody(int, bool) types.Action {
	if s.flight.Queued() > 0 {
		s.flight.First(s.filter.time())
	}
	return types.ActionContinue
}

// OnHttpStreamDone gives back all that the stream holds, however it ended.
func (s *stream) OnHttpStreamDone() {
	s.leave()
	if s.flight.Endpoint() != nil {
		s.filter.metrics.add(flightsEnded, 1)
		s.flight.End()
	}
	s.closeReader()
	s.phase = bypassed
}

// release makes the stream a spare of its filter.
func (s *stream) release() {
	s.OnHttpStreamDone()
	f := s.filter
	*s = stream{filter: f}
	f.spare = append(f.spare, s)
}
