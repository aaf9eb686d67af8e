// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// Definition is an algorithm with its parameters, ready to run. It is
// immutable.
type Definition struct {
	own      policy.Definition    // of package policy; nil: stargate's
	stargate *stargate.Definition // also holds the admission limit of own
	keep     int                  // endpoints that a decision may name
}

// Instance is what a definition remembers of one target.
type Instance struct {
	own      policy.Instance
	stargate *stargate.Instance
}

// Router resolves requests to definitions.
type Router = expr.Router[*Definition, *Instance]

// Choice is the definition of one request.
type Choice = expr.Choice[*Definition, *Instance]

// Budget bounds what several routers keep together.
type Budget = expr.Budget[*Definition, *Instance]

// NewBudget returns the budget of a VM.
func NewBudget() *Budget { return expr.NewBudget[*Definition, *Instance](0) }

// NewRouter returns a router for a configuration that Catalog has read. budget
// may be shared with other routers; nil is one of its own. evicted is told of
// what leaves its cache; it may be nil.
func NewRouter(config *expr.Config, budget *Budget, evicted func(expr.Eviction)) *Router {
	return expr.NewRouter(config, expr.Maker[*Definition, *Instance]{
		Compile: Compile, Start: Start, Evicted: evicted, Budget: budget,
	})
}

// Compile returns the definition of these settings.
func Compile(s *expr.Settings) *Definition {
	d := &Definition{stargate: stargate.Compile(s), keep: policy.MaxEndpoints}
	if v := s.Value(fallbacks); v.IsSet() {
		d.keep = 1 + int(v.Uint())
	}
	switch s.Algorithm() {
	case PrefixAware:
		a := policy.DefaultPrefixAware()
		a.Price = s.Number(tokenPrice)
		a.TieSeconds = seconds(s.Uint(tieBand))
		a.IgnorePrior = s.Bool(ignorePrior)
		d.own = a
	case Topology:
		d.own = policy.Topology{Overload: s.Number(overloadFactor), OverloadSeconds: seconds(s.Uint(stickyUntil))}
	case LeastLoad:
		d.own = policy.LeastLoad{}
	}
	return d
}

// Start returns the state of a target that has seen no request.
func Start(d *Definition) *Instance {
	if d.own != nil {
		return &Instance{own: d.own.New(0)}
	}
	return &Instance{stargate: stargate.NewInstance()}
}

// Stargate returns the part of the definition that package stargate knows: for
// logs, and for its admission limit.
func (d *Definition) Stargate() *stargate.Definition { return d.stargate }

// Trim cuts a decision to as many endpoints as the definition wants.
func (d *Definition) Trim(p *policy.Decision) {
	for p.N > d.keep {
		p.N--
		p.Endpoints[p.N] = nil
	}
}
