// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

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
// Where there is a routing section (routing.go) it may also be held, until an
// endpoint can be chosen, or answered from here.
//
// The reader is there from the first wish to see the body until its end, the
// flight from the choice until the stream's end, the chain from the body's end
// on. response.go has the answer's side.
type stream struct {
	types.DefaultHttpContext
	filter *filter
	id     uint32
	phase  phase
	pool   *pool
	reader *reader
	length int    // content-length, -1 if there is none
	forged bool   // the client names a destination itself
	route  *route // how the routing section wants it, until it is decided; nil: there is none
	unheld bool   // it may not be held, whatever it asks for

	place    int           // in filter.waiting
	began    time.Duration // when the wait began
	silent   int           // ticks since the last byte
	released time.Duration // when a tick released it before any byte came; 0 = it did not

	choice    policy.Decision
	algorithm string // that chose, "" for the pool's own
	unseen    bool   // it was made by the headers alone
	steered   bool   // the destination header is ours
	whole     bool   // the choice was made for the whole prompt, in this callback
	streamed  bool   // the answer comes in events, as far as the body has told
	stored    bool   // an API whose answers the engine keeps, and the id is not learnt yet
	flight    load.Flight

	chain  chain          // the prompt, once the body has ended
	holder *load.Endpoint // where it is learnt; nil: nowhere
	before int            // how many of its blocks were known there before
	reply  reply
}

// phase is where a stream stands.
type phase uint8

const (
	fresh phase = iota
	waiting
	held
	sent
	bypassed
	answered // by a reply of ours
)

// OnHttpRequestHeaders decides whether the request is ours, and whether its
// headers wait for the body.
func (s *stream) OnHttpRequestHeaders(_ int, end bool) types.Action {
	if s.filter.router != nil {
		s.route = s.filter.router.borrow()
	}
	r := classify(s.filter.headers(requestHeaders), &s.filter.shapes, s.route)
	s.length, s.forged = r.length, r.forged
	if r.forged {
		s.filter.metrics.add(forgedDestination, 1)
	}
	if r.expressions+r.codes > 0 {
		s.consume(&r)
	}
	if r.why == none {
		r.why = s.open(r.shape, end)
	}
	switch {
	case s.routed(&r):
		return s.direct()
	case r.why != none:
		s.bypass(r.why)
	case !s.mayWait():
		s.choose(decidedHeadersOnly)
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
	if s.reader = s.filter.readers.borrow(s.filter.config.readers, &s.filter.prompt, shape); s.reader == nil {
		return noReader
	}
	s.stored = shape == prefix.Responses
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
	s.closeRoute()
	s.disarm()
}

// disarm removes a client's own destination where ours does not overwrite it.
func (s *stream) disarm() {
	if s.forged {
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
	if s.phase == held {
		s.letGo()
	}
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
	if s.reader != nil {
		s.watch(size)
		s.read(size, end)
	}
	if s.phase == waiting {
		s.decide()
	}
	switch s.phase {
	case waiting, held, answered:
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
	case s.phase == waiting, s.phase == held:
		s.filter.probe.shown()
	case s.released != 0:
		now := s.filter.time()
		s.filter.metrics.add(bodiesAfterRelease, 1)
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

// decide ends the wait for the body if it is time to.
func (s *stream) decide() {
	r := s.reader
	if s.route != nil {
		if rejection := s.seeModel(); rejection != nil {
			s.refuse(rejection)
			return
		}
	}
	switch {
	case r.Reason() != 0 && s.route != nil && s.route.asked():
		s.choose(decidedWholeBody)
	case r.Reason() != 0:
		s.filter.metrics.noPrompt(r.Reason())
		s.leave()
		s.bypass(noPrompt)
	case r.ended:
		s.choose(decidedWholeBody)
	case !s.stored && r.grown() && s.chooseEarly(): // what a stored answer depends on may come last
	case r.Raw() >= s.filter.config.wait.bytes:
		s.choose(decidedWaitBytes)
	}
}

// endWait decides from a tick, outside the stream's own callbacks, and lets
// the request go.
func (s *stream) endWait(how counter) {
	if s.reader.Raw() == 0 {
		s.released = s.filter.time()
	}
	s.filter.setContext(s.id)
	s.choose(how)
	s.goOn()
}

// goOn lets a request that a tick has decided go on, and learns what its body
// has told by then.
func (s *stream) goOn() {
	if s.phase == sent || s.phase == bypassed {
		s.filter.continueRequest()
		s.learn()
	}
}

// choose picks with what is known of the request.
func (s *stream) choose(how counter) { s.chooseAt(how, s.filter.time()) }

func (s *stream) chooseAt(how counter, now time.Duration) {
	r := s.known(now)
	if s.route != nil {
		d, _, rejection := s.pick(r, false)
		if rejection == nil {
			s.preferKeeper(&d, r)
		}
		s.act(d, rejection, r, how)
		return
	}
	d := s.pool.Pick(nil, r)
	s.preferKeeper(&d, r)
	s.send(d, r, how)
}

// chooseEarly picks if the rest of the body can't change the first choice.
func (s *stream) chooseEarly() bool {
	r := s.reader.ask(s.length, s.filter.clock)
	if s.route != nil {
		d, final, rejection := s.pick(r, true)
		if final {
			s.act(d, rejection, r, decidedEarly)
		}
		return final
	}
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
	s.unseen = how == decidedHeadersOnly
	m.add(promptBytes, r.Length)
	m.add(matchedBytes, d.Match)
	s.phase, s.choice, s.whole = sent, d, how == decidedWholeBody
	s.streamed = s.reader != nil && s.reader.Stream()
	if s.steered = s.filter.config.steers(r); s.steered {
		m.add(steered, 1)
		s.filter.setHeader(requestHeaders, destinationHeader, s.filter.destination(&d))
		s.fly(d.First(), r)
	} else {
		m.add(observed, 1)
		s.disarm()
	}
	s.closeRoute()
}

// fly counts the request in at the endpoint it is sent to.
func (s *stream) fly(e *load.Endpoint, r *policy.Request) {
	s.filter.metrics.add(flightsStarted, 1)
	s.pool.Start(&s.flight, e, &s.choice, r, s.streamed)
}

// learn notes the placement once the body is complete. Where it goes is known
// by then, but for a request that is only observed: of that the answer tells.
func (s *stream) learn() {
	if s.phase != sent || s.reader == nil || !s.reader.ended {
		return
	}
	if s.reader.Reason() == 0 {
		r := s.reader.ask(s.length, s.filter.clock)
		if s.unseen {
			s.pool.Correct(&s.flight, r)
		}
		if e := s.flight.Endpoint(); e != nil && !s.reply.refused {
			s.learnAt(e, r)
		}
		s.chain, s.streamed = s.filter.chains.keep(r), s.reader.Stream()
	} else {
		s.filter.metrics.noPrompt(s.reader.Reason())
	}
	s.closeReader()
	s.whole = false
}

// learnAt notes that e holds the prompt, and tells the other VMs what is news of
// it.
func (s *stream) learnAt(e *load.Endpoint, r *policy.Request) {
	s.holder = e
	if s.whole && e == s.choice.First() {
		s.before = r.KnownOf(&s.choice) // nothing has been learnt since the choice
	} else {
		s.before = s.pool.Known(e, r)
	}
	s.filter.metrics.add(placementsLearned, 1)
	s.filter.exchange.learned(s.pool, e, r, s.before)
	s.pool.Learn(e, r, 0)
}
