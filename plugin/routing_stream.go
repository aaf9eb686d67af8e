// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// consume takes what is ours off the request: the expression, which no engine
// is to see, and a code that a client has put there.
func (s *stream) consume(r *request) {
	f := s.filter
	if r.expressions > 0 {
		f.removeHeader(requestHeaders, expr.HeaderMethod)
		if f.router == nil {
			f.metrics.add(routingExpressionsIgnored, 1)
		}
	}
	if r.codes > 0 {
		f.removeHeader(requestHeaders, expr.HeaderError)
		f.metrics.add(routingErrorsRemoved, 1)
	}
}

// routed reports whether the filter's section is to say how the request goes. A
// request with an expression goes by it also where its body can't be read.
func (s *stream) routed(r *request) bool {
	if s.route == nil || r.why == none {
		return s.route != nil
	}
	if r.expressions == 0 {
		return false
	}
	if s.pool == nil && r.why != noPool {
		s.pool = s.filter.poolOf()
	}
	if s.pool == nil {
		return false
	}
	s.filter.metrics.add(requests, 1)
	s.unheld = r.unheld
	return true
}

// direct starts a routed request: it is answered if its headers are at fault,
// waits for its body if that matters, or is decided.
func (s *stream) direct() types.Action {
	t := s.route
	now := s.filter.time()
	t.began = now
	s.filter.routed.arrivals++
	t.arrival, t.timed = s.filter.routed.arrivals, s.filter.routed.metrics.sample()
	since := s.clockIn()
	waits := s.reader != nil && s.mayWait()
	rejection := t.read()
	if rejection == nil {
		rejection = s.resolveEarly(waits)
	}
	s.clockOut(since)
	switch {
	case rejection != nil:
		s.refuse(rejection)
	case waits && (s.stored || !t.resolved || s.needs() != policy.NeedNothing):
		s.wait()
	default:
		s.chooseAt(decidedHeadersOnly, now)
	}
	return s.verdict()
}

// verdict is what a callback returns for a request at its phase.
func (s *stream) verdict() types.Action {
	switch s.phase {
	case waiting, held, answered:
		return requestPaused
	}
	return types.ActionContinue
}

// resolveEarly resolves what can be without the body. Where only the body tells
// the model, an expression that is wrong for every model is refused all the
// same, and a definition that is the same for every model is taken.
func (s *stream) resolveEarly(waits bool) *expr.Rejection {
	t := s.route
	unknown := t.request.Model == ""
	switch {
	case unknown && waits && s.filter.router.models:
		return nil
	case unknown && s.filter.router.models:
		s.filter.metrics.add(routingModelsUnknown, 1)
	}
	rejection := s.resolve(waits)
	if rejection == nil && unknown && waits && t.choice.Definition.Stargate().UsesAffinity() {
		t.resolved = false // the model is part of the hash
	}
	return rejection
}

// resolve finds the request's definition and checks what that demands.
func (s *stream) resolve(mayShow bool) *expr.Rejection {
	t, f := s.route, s.filter
	c, rejection := f.router.Resolve(expr.Query{
		Group: s.pool.serial, RoutingKey: t.request.RoutingKey, Model: t.request.Model,
		Value: t.value, Lines: t.lines,
	}, f.clock)
	if rejection == nil {
		rejection = c.Demands.Missing(t.have(mayShow))
	}
	if rejection == nil {
		t.choice, t.resolved = c, true
	}
	return rejection
}

// seeModel resolves a request as soon as its body has told the model.
func (s *stream) seeModel() *expr.Rejection {
	t := s.route
	if t.resolved {
		return nil
	}
	model := s.reader.Model()
	if model == nil {
		return nil
	}
	t.request.Model = t.keep(textOf(model))
	s.reader.tried = -1 // what waited for the model is to be tried at once
	return s.resolve(true)
}

// needs is what the request's definition must know of it to be final.
func (s *stream) needs() policy.Need { return s.bind().Need() }

// pick chooses by the request's definition; early: only if the rest of the body
// can't change the choice. final tells whether it has come to anything.
func (s *stream) pick(r *policy.Request, early bool) (d policy.Decision, final bool, rejection *expr.Rejection) {
	since := s.clockIn()
	if !early || s.route.resolved {
		if rejection = s.prepare(r, early); rejection == nil {
			d, final = s.ask(r, early)
		}
	}
	s.clockOut(since)
	return d, final || rejection != nil, rejection
}

// ask lets the definition choose.
func (s *stream) ask(r *policy.Request, early bool) (d policy.Decision, final bool) {
	t := s.route
	instance := s.bind()
	if early {
		d, final = s.pool.Early(instance, r)
	} else {
		d, final = s.pool.Pick(instance, r), true
	}
	t.choice.Definition.Trim(&d)
	return d, final
}

// bind is the request's instance, for one pick.
func (s *stream) bind() policy.Instance {
	t := s.route
	return s.filter.routed.runner.Bind(t.choice.Definition, t.choice.Instance, s.pool.Pool, &t.request)
}

// admit judges the definition's limit on waiting prompt work.
func (s *stream) admit(r *policy.Request) *expr.Rejection {
	t, shared := s.route, s.filter.routed
	t.request.Elapsed = r.Now - t.began
	a := shared.runner.Admit(t.choice.Definition, s.pool.Pool, &t.request, r)
	if a == stargate.Admitted {
		return nil
	}
	shared.metrics.admission(a)
	return &expr.Rejection{Code: expr.InputWorkLimitExceeded, Offset: -1}
}

// prepare does what comes before a pick: it makes sure of the definition, lets
// the cache keep what was built for it, and judges the limit on work.
func (s *stream) prepare(r *policy.Request, early bool) *expr.Rejection {
	t := s.route
	if !t.resolved { // the wait is over, and the body has not told the model
		s.filter.metrics.add(routingModelsUnknown, 1)
		if rejection := s.resolve(r.KeyKnown); rejection != nil {
			return rejection
		}
	}
	if !early {
		if rejection := t.choice.Demands.Missing(t.have(r.KeyKnown)); rejection != nil {
			return rejection
		}
	}
	if !t.settled {
		t.settled = true
		s.filter.router.Settle(&t.choice, len(s.pool.View().Endpoints()), r.Now)
		s.filter.routed.metrics.resolved(&t.choice)
		s.logBuilt()
	}
	s.filter.routed.runner.Limit(t.options.MaxRingPoints)
	return s.admit(r)
}

// act lets a pick take effect: the request goes on, is held, or is answered.
func (s *stream) act(d policy.Decision, rejection *expr.Rejection, r *policy.Request, how counter) {
	if rejection == nil && d.N == 0 {
		rejection = s.noChoice(r)
		if rejection == nil {
			s.holdBack(how)
			return
		}
	}
	if rejection != nil {
		s.refuse(rejection)
		return
	}
	s.succeed()
	s.send(d, r, how)
}

// succeed notes the outcome of a routed request that goes to an endpoint.
func (s *stream) succeed() {
	f := s.filter
	s.algorithm = s.route.choice.Algorithm
	f.routed.metrics.selected(s.algorithm, f.routed.runner.Outcome())
	s.recordTime()
	s.logAccepted()
}

// noChoice is what becomes of a request for which no endpoint can be chosen:
// nil means that it waits for one.
func (s *stream) noChoice(r *policy.Request) *expr.Rejection {
	ready := 0
	endpoints := s.pool.View().Endpoints()
	for _, e := range endpoints {
		if e.Ready(r.Now) {
			ready++
		}
	}
	return stargate.NoChoice(len(endpoints), ready, s.mayHold(r.Now), false)
}

// refuse answers a request, or leaves it to Envoy's load balancer where only
// an operator may refuse it and has not said so.
func (s *stream) refuse(rejection *expr.Rejection) {
	f := s.filter
	f.routed.metrics.refused(s.route, rejection)
	s.recordTime()
	s.leave()
	nobody := rejection.Code == expr.NoEligibleCandidates || rejection.Code == expr.NoEligibleBackend
	switch {
	case nobody && !s.route.asked() && !f.router.options.Strict:
		s.bypass(noEndpoint)
		return
	case f.config.mode == observe:
		s.bypass(unrefused)
		return
	}
	s.logRejected(rejection)
	s.phase = answered
	s.closeReader()
	s.closeRoute()
	f.text = rejection.AppendBody(f.text[:0])
	f.reply(rejection.Code.Status(), [][2]string{
		{"content-type", "application/json"}, {expr.HeaderError, rejection.Code.String()},
	}, f.text)
}

// closeRoute gives the route back: nothing of it matters any more.
func (s *stream) closeRoute() {
	if s.route != nil {
		s.filter.router.giveBack(s.route)
		s.route = nil
	}
}

// passBy removes from the answer to a request that was left alone what only
// ours may say.
func (s *stream) passBy() {
	if s.phase == answered {
		return
	}
	if s.filter.config.receipt {
		s.filter.removeHeader(responseHeaders, decisionHeader)
	}
	if s.filter.router == nil {
		return
	}
	if _, forged := s.filter.headers(responseHeaders).get(expr.HeaderError); forged {
		s.disown()
	}
}

// disown removes a code that an engine has put into its answer: only ours are
// to be believed.
func (s *stream) disown() {
	s.filter.metrics.add(routingErrorsRemoved, 1)
	s.filter.removeHeader(responseHeaders, expr.HeaderError)
}
