// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/load/orca"
)

// What was chosen is believed until the answer says otherwise: the placement is
// learnt when the body ends, so that requests right behind find it, and taken
// back if no engine turns out to have computed the prompt, or another one.

// reply is what is kept of the answer while it comes.
type reply struct {
	begun   bool         // its headers have come
	ended   bool         // it is complete
	refused bool         // its status says that the prompt was not computed
	usage   *usageReader // looks for the usage; nil: not asked for
}

// answer is what response headers say.
type answer struct {
	status int
	sse    bool
	plain  bool // JSON or events that can be read
	loaded bool // with a report of the engine's load
	code   bool // with a routing error that isn't ours
}

// OnHttpResponseHeaders notes who answered and how.
func (s *stream) OnHttpResponseHeaders(_ int, end bool) types.Action {
	if s.phase != sent {
		s.passBy()
		return types.ActionContinue
	}
	s.reply.begun, s.reply.ended = true, end
	a := s.hear()
	if a.code {
		s.disown()
	}
	s.settle(s.servedBy(&a), &a)
	s.takeReport(&a)
	s.expectUsage(&a)
	if s.filter.config.receipt {
		s.filter.setHeader(responseHeaders, decisionHeader, s.receipt())
	}
	return types.ActionContinue
}

// hear reads the response headers, a load report among them included.
func (s *stream) hear() (a answer) {
	f := s.filter
	encoded := false
	for name, value := range f.headers(responseHeaders).lines {
		switch n := string(name); {
		case n == ":status":
			a.status, _ = strconv.Atoi(string(value))
		case n == "content-type":
			a.sse = hasPrefixFold(value, "text/event-stream")
			a.plain = a.sse || contentReason(value) == noReason
		case n == "content-encoding":
			encoded = !bytes.EqualFold(value, []byte("identity"))
		case n == expr.HeaderError:
			a.code = f.router != nil
		case strings.HasPrefix(n, orca.Header):
			if !a.loaded {
				f.orca.Reset()
			}
			a.loaded = true
			f.orca.Add(n, value)
		}
	}
	a.plain = a.plain && !encoded
	return a
}

// takeReport feeds an engine's own report of its load into the view. What the
// report doesn't say stays as it was.
func (s *stream) takeReport(a *answer) {
	e := s.flight.Endpoint()
	if !a.loaded || e == nil {
		return
	}
	r, err := s.filter.orca.Report()
	if err != nil {
		s.filter.metrics.add(loadReportFaults, 1)
		return
	}
	stats := e.Stats
	stats.At = s.filter.clock
	read := func(f orca.Field, to *float64) {
		if v, known := r.Value(f); known {
			*to = v
		}
	}
	read(orca.Waiting, &stats.Waiting)
	read(orca.Running, &stats.Running)
	read(orca.KVUse, &stats.KVUse)
	read(orca.KVTokens, &stats.KVCapacity)
	s.filter.metrics.add(loadReports, 1)
	s.pool.View().Report(e, stats)
}

// server is who answered.
type server struct {
	*load.Endpoint
	asked   bool // else it is taken on trust that the first choice did
	foreign bool // a host that is none of the pool's
	silent  bool // it gave no answer: Envoy's last attempt, and the answer is Envoy's own
}

// servedBy tells who answered. It asks Envoy where that is unknown or doubtful,
// and often enough to notice when first choices begin to fail.
func (s *stream) servedBy(a *answer) server {
	e := s.flight.Endpoint()
	if e != nil && a.status < 500 && !s.pool.asks(e, s.filter.clock) {
		return server{Endpoint: e}
	}
	address, ok := s.filter.property("upstream\x00address")
	if !ok {
		return server{asked: true} // a reply of Envoy's own
	}
	served := s.pool.View().Find(textOf(address))
	return server{Endpoint: served, asked: true, foreign: served == nil, silent: a.status >= 500 && s.localReply()}
}

// localReply reports whether Envoy itself has made the answer.
func (s *stream) localReply() bool {
	details, ok := s.filter.property("response\x00code_details")
	return ok && string(details) != "via_upstream"
}

// settle gives the request to the endpoint that served, and blames those that
// failed it.
func (s *stream) settle(by server, a *answer) {
	s.reply.refused = a.status < 200 || a.status > 299
	now := s.filter.clock
	if by.asked {
		s.blame(by, a.status, now)
	}
	switch served, chosen := by.Endpoint, s.flight.Endpoint(); {
	case served == nil && (by.foreign || s.reply.refused):
		s.land()
		s.withdraw()
	case served == nil || served == chosen:
	case chosen == nil:
		s.fly(served, s.known(now))
	default:
		if !by.silent {
			s.filter.metrics.add(servedByOther, 1)
		}
		s.flight.Move(served, now)
	}
	s.correct()
}

// blame notes which endpoints have failed the request. A first attempt that
// failed shows only in that another endpoint served.
func (s *stream) blame(by server, status int, now time.Duration) {
	if s.steered && !by.silent && (by.Endpoint != nil || by.foreign) {
		s.filter.wiring.served(s.filter, by.Endpoint == s.choice.First())
	}
	if by.foreign {
		s.filter.metrics.add(servedByUnlisted, 1)
		return // another cluster's host, or the lists differ: no fault of an endpoint's
	}
	if s.steered && by.Endpoint != s.choice.First() && by.Endpoint != nil {
		for _, e := range s.choice.Endpoints[:s.choice.N] {
			if e == by.Endpoint {
				break
			}
			s.pool.fail(e, now)
		}
	}
	switch {
	case by.Endpoint == nil:
	case status >= 500:
		s.pool.fail(by.Endpoint, now)
	default:
		by.Succeed()
	}
}

// known is what is known of the request's prompt at this point.
func (s *stream) known(now time.Duration) *policy.Request {
	if s.reader != nil {
		return s.reader.ask(s.length, now)
	}
	return s.filter.chains.recall(&s.chain, now)
}

// correct moves the placement to where it belongs by now: the endpoint of the
// flight, or none.
func (s *stream) correct() {
	e := s.flight.Endpoint()
	if s.reply.refused {
		e = nil
	}
	if e == s.holder {
		return
	}
	s.withdraw()
	if e == nil || s.reader != nil {
		return // not computed, or learnt when the body ends
	}
	if r := s.filter.chains.recall(&s.chain, s.filter.clock); len(r.Hashes) > 0 {
		s.learnAt(e, r)
	}
}

// withdraw takes back what was learnt of the request.
func (s *stream) withdraw() {
	e := s.holder
	if e == nil {
		return
	}
	s.holder = nil
	r := s.filter.chains.recall(&s.chain, s.filter.clock)
	if len(r.Hashes) == 0 {
		s.filter.metrics.add(placementsNotCorrected, 1)
		return
	}
	s.filter.metrics.add(placementsWithdrawn, 1)
	s.filter.exchange.lost(e, r, s.before, len(r.Hashes))
	s.pool.Withdraw(e, r, s.before)
}

// expectUsage decides whether the answer's body is looked at.
func (s *stream) expectUsage(a *answer) {
	e := s.flight.Endpoint()
	if e == nil || s.reply.refused || s.reply.ended || !a.plain {
		return
	}
	s.reply.usage = s.pool.reads(e, a.sse, s.filter.clock)
}

// OnHttpResponseBody tells the first token of a streamed answer (engines send
// the headers before the prefill ends), and finds id and usage.
func (s *stream) OnHttpResponseBody(size int, end bool) types.Action {
	if s.phase != sent {
		return types.ActionContinue
	}
	s.reply.ended = end
	s.first(size)
	if !s.reply.refused {
		s.keepAnswer(size)
	}
	if s.reply.usage != nil {
		s.readUsage(size, end)
	}
	return types.ActionContinue
}

// first releases the queued prefill at the answer's first byte.
func (s *stream) first(size int) {
	if size == 0 || s.flight.Queued() == 0 {
		return
	}
	now := s.filter.clock
	if s.flight.Timed() {
		now = s.filter.time()
	}
	s.flight.First(now)
}

// readUsage looks for the usage in a chunk and learns from it.
func (s *stream) readUsage(size int, end bool) {
	var tail []byte
	if size > 0 {
		n := min(size, usageWindow)
		tail = s.filter.body(responseBody, size-n, n)
	}
	u, ok := s.reply.usage.add(tail, end)
	if !ok && !end {
		return
	}
	s.dropUsage(ok)
	e := s.flight.Endpoint()
	if !ok || e == nil || s.reader != nil {
		return
	}
	s.filter.metrics.add(usagesRead, 1)
	s.pool.judge(e, &s.choice, s.filter.chains.recall(&s.chain, s.filter.clock), u)
}

func (s *stream) dropUsage(told bool) {
	if s.reply.usage != nil {
		s.filter.usages.giveBack(s.reply.usage, told)
		s.reply.usage = nil
	}
}

// OnHttpStreamDone gives back all that the stream holds, however it ended.
func (s *stream) OnHttpStreamDone() {
	if s.phase == sent && s.reply.begun && !s.reply.ended && s.flight.Endpoint() != nil && s.cutOff() {
		s.pool.fail(s.flight.Endpoint(), s.filter.clock)
	}
	s.close()
}

// Bits of response.flags (Envoy's CoreResponseFlag) that put the end of a
// stream down to its upstream.
const (
	upstreamTimedOut = 1 << 2
	upstreamReset    = 1 << 4
	upstreamFailed   = 1 << 5
	upstreamClosed   = 1 << 6
	upstreamProtocol = 1 << 23 // HTTP/1 shows a cut connection as a chunk that is missing
	upstreamFaults   = upstreamTimedOut | upstreamReset | upstreamFailed | upstreamClosed | upstreamProtocol
)

// cutOff reports whether it was the engine that ended an answer too early.
func (s *stream) cutOff() bool {
	flags, ok := s.filter.property("response\x00flags")
	return ok && len(flags) == 8 && binary.LittleEndian.Uint64(flags)&upstreamFaults != 0
}

// land ends the flight.
func (s *stream) land() {
	if s.flight.Endpoint() != nil {
		s.filter.metrics.add(flightsEnded, 1)
		s.flight.End()
	}
}

// close gives back all that the stream holds. It makes no host call: Envoy may
// have forgotten the stream.
func (s *stream) close() {
	s.leave()
	s.closeRoute()
	if s.phase == sent && !s.reply.begun {
		s.withdraw() // nobody has answered
	}
	s.dropUsage(false)
	s.land()
	s.closeReader()
	s.phase = bypassed
}

// release makes the stream a spare of its filter.
func (s *stream) release() {
	s.close()
	f := s.filter
	*s = stream{filter: f}
	f.spare = append(f.spare, s)
}
