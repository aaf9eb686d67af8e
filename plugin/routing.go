// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/expr/document"
	"github.com/kvsteer/kvsteer/policy/routing"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// Routing expressions in the path of requests, for filters whose configuration
// has a routing section:
//
//	headers ──> route ──read──> router ──resolve──> definition and instance
//	                                                   │ pick, as soon as it knows enough
//	                        sent <──┬── held, until an endpoint can be chosen
//	                                └── answered: 400, 404, 503
//
//	routing.go          the section, and what the sections of a VM share
//	routing_headers.go  what a request's headers say
//	routing_stream.go   from there to a choice
//	routing_hold.go     waiting for an endpoint
//	routing_metrics.go, routing_log.go

// router is the routing section of one filter. Filters beside each other, such
// as those before and after a change of the configuration, have one each, so
// that neither disturbs the other's requests.
type router struct {
	*routing.Router
	options expr.Options
	models  bool      // some have a definition of their own
	spare   []*route  // that no request has
	held    []*stream // requests that wait for an endpoint, by urgency
	next    int       // the one of them to pick for next
}

// routings is what the routing sections of a VM share.
type routings struct {
	routers  []*router
	budget   *routing.Budget
	runner   *routing.Runner
	metrics  routingMetrics
	lines    lineLimit
	arrivals uint64 // routed requests so far
	held     int    // requests that wait for an endpoint
	swept    time.Duration
}

// sweepPeriod is how often definitions that nobody uses are looked for.
const sweepPeriod = 30 * time.Second

// routing decodes the section.
func (d *decoder) routing(dst **expr.Config) func(document.Node) {
	return func(n document.Node) {
		catalog, err := routing.Catalog()
		if err == nil {
			*dst, err = catalog.DecodeConfig(n)
		}
		faults, ok := err.(expr.Faults) // it is never wrapped, and errors.As costs the module 40 KB
		if err != nil && !ok {
			d.fault(n.Pointer, err.Error())
		}
		for _, f := range faults {
			d.fault(f.Pointer, f.Reason+": "+f.Detail)
		}
	}
}

// startRouting puts the section in force; nil is none.
func (f *filter) startRouting(c *expr.Config) {
	if c == nil {
		return
	}
	s := f.vm.routings()
	r := &router{options: c.Options(), models: c.Models() > 0}
	r.Router = routing.NewRouter(c, rand.Uint64(), s.budget, func(e expr.Eviction) { s.metrics.evicted(e.Cause) })
	s.routers = append(s.routers, r)
	f.router = r
	s.metrics.loaded(true)
	f.debugging = f.host.debugging()
	for _, w := range c.Warnings() {
		f.log(logWarn, "kvsteer: configuration: "+w.Error())
	}
	f.log(logInfo, "kvsteer: routing: default "+c.Default().Settings().Algorithm()+
		", models with a definition of their own: "+strconv.Itoa(c.Models()))
}

// stopRouting gives back what the section's caches hold. Requests that are under
// way all the same can still end.
func (f *filter) stopRouting() {
	if f.router == nil {
		return
	}
	f.router.Close()
	s := f.vm.routings()
	s.routers = slices.DeleteFunc(s.routers, func(r *router) bool { return r == f.router })
}

// refuseRouting counts a configuration that was refused for its section.
func (f *filter) refuseRouting(faults []fault) {
	for _, fault := range faults {
		if fault.pointer == routingPointer || strings.HasPrefix(fault.pointer, routingPointer+"/") {
			m := &f.vm.routings().metrics
			m.loaded(false)
			m.flush(f.host) // there may be no tick
			return
		}
	}
}

const routingPointer = "/routing"

// routings returns what the VM's sections share, and makes it for the first.
func (v *vm) routings() *routings {
	if v.routed == nil {
		s := &routings{budget: routing.NewBudget()}
		s.runner = routing.NewRunner(rand.Uint64(), stargate.Limits{Reduced: v.ringReduced})
		s.metrics.define(v.host)
		v.routed = s
	}
	return v.routed
}

// ringReduced notes that a hash ring got fewer virtual nodes than asked for.
func (v *vm) ringReduced(virtual int) {
	v.routed.metrics.add(ringsReduced, 0, 0)
	v.logLimited(logWarn, "kvsteer: a hash ring has only "+strconv.Itoa(virtual)+" virtual nodes for each endpoint: routing.max_ring_points")
}

// tickRouting is the slow part of a tick: what isn't about single requests.
func (v *vm) tickRouting(now time.Duration) {
	s := v.routed
	if s == nil {
		return
	}
	if now-s.swept >= sweepPeriod {
		s.swept = now
		for _, r := range s.routers {
			r.Sweep(now)
		}
	}
	entries, definitions := 0, 0
	for _, r := range s.routers {
		e, d := r.Len()
		entries, definitions = entries+e, definitions+d
	}
	v.debugging = v.host.debugging()
	s.metrics.cached(v.host, entries, definitions)
	s.metrics.flush(v.host)
}
