// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"
	"unsafe"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy/routing"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// route is how one request is to be routed: what its headers say, and the
// definition that follows. A stream has it until its choice is made.
//
// What headers classifies borrows the host's bytes; read copies what is needed
// beyond the callback.
type route struct {
	options *expr.Options
	headers expr.Headers
	model   string // of the configured model header
	session string // of the first of the configured session headers that came
	rank    int    // its place among them
	text    []byte // copies of header values

	value   string // of x-routing-method
	lines   int    // how many of them came
	request stargate.Request
	maxWait time.Duration

	choice   routing.Choice
	resolved bool
	settled  bool

	arrival uint64
	began   time.Duration
	how     counter // what ended the wait for the body
	retries int
	spent   time.Duration // of the steps so far, where it is measured
	timed   bool
}

// maxSession bounds a session header's value, as x-cache-affinity-key is
// bounded.
const maxSession = 1024

// take looks at one header line that classify has no use for itself.
func (t *route) take(name, value []byte) {
	o, n, v := t.options, textOf(name), textOf(value)
	t.headers.Add(n, v)
	if n == o.ModelHeader && t.model == "" {
		t.model = strings.Trim(v, " ")
	}
	for i, s := range o.SessionHeaders {
		if n == s && i < t.rank {
			if v = strings.Trim(v, " "); v != "" {
				t.session, t.rank = v[:min(len(v), maxSession)], i
			}
		}
	}
}

// textOf is b as a string, valid as long as b is.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// read judges the plain headers and keeps copies of all that came.
func (t *route) read() *expr.Rejection {
	value, lines := t.headers.Method()
	// One byte too many is as good as all of them.
	t.value, t.lines = t.keep(value[:min(len(value), expr.MaxBytes+1)]), lines
	h, rejection := t.headers.Parse(t.options.RequireModel)
	if rejection != nil {
		return rejection
	}
	model, affinity := h.Model, h.AffinityKey
	if model == "" && len(t.model) <= maxModel {
		model = t.model
	}
	if affinity == "" {
		affinity = t.session
	}
	t.request = stargate.Request{
		RoutingKey: t.keep(h.RoutingKey), Model: t.keep(model), AffinityKey: t.keep(affinity),
		InputTokens: h.InputTokens, HasInputTokens: h.HasInputTokens,
		Priority: h.Priority, SLO: h.SLO,
	}
	t.maxWait = h.MaxWait
	return nil
}

// maxModel bounds a model's name, as x-model is bounded. The body's is bounded
// by its scanner.
const maxModel = 256

// keep returns a copy of s that lives as long as the route has its request.
// Growing the text leaves the copies before where they are.
func (t *route) keep(s string) string {
	if s == "" {
		return ""
	}
	at := len(t.text)
	t.text = append(t.text, s...)
	return textOf(t.text[at:])
}

// asked reports whether the request carries an expression.
func (t *route) asked() bool { return t.lines > 0 }

// have is what the request carries of what a definition may demand. A
// conversation counts as an affinity key if it may still show.
func (t *route) have(conversation bool) (d expr.Demand) {
	if t.request.AffinityKey != "" || conversation {
		d |= expr.AffinityKey
	}
	if t.request.HasInputTokens {
		d |= expr.InputTokens
	}
	return d
}

// borrow returns a route for a request that has just come.
func (r *router) borrow() *route {
	n := len(r.spare)
	if n == 0 {
		return &route{options: &r.options, rank: len(r.options.SessionHeaders)}
	}
	t := r.spare[n-1]
	r.spare = r.spare[:n-1]
	return t
}

// giveBack takes back a route whose request needs it no more; nil is none.
func (r *router) giveBack(t *route) {
	if t == nil {
		return
	}
	*t = route{options: &r.options, text: t.text[:0], rank: len(r.options.SessionHeaders)}
	r.spare = append(r.spare, t)
}
