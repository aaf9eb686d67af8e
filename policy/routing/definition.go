// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"math/rand/v2"

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

// NewRouter returns a router for a configuration that Catalog has read. seed is
// that of its instances' random choices. budget may be shared with other
// routers; nil is one of its own. evicted is told of what leaves its cache; it
// may be nil.
func NewRouter(config *expr.Config, seed uint64, budget *Budget, evicted func(expr.Eviction)) *Router {
	seeds := rand.NewPCG(seed, 0x726f75746572) // "router": apart from other draws from this seed
	return expr.NewRouter(config, expr.Maker[*Definition, *Instance]{
		Compile: compile, Evicted: evicted, Budget: budget,
		Start: func(d *Definition) *Instance { return start(d, seeds.Uint64()) },
	})
}

// compile returns the definition of these settings.
func compile(s *expr.Settings) *Definition {
	d := &Definition{stargate: stargate.Compile(s), keep: policy.MaxChoices}
	if v := s.Value(fallbacks); v.IsSet() {
		d.keep = 1 + int(v.Uint())
	}
	d.own, _ = policy.Lookup(s.Algorithm())
	switch a := d.own.(type) {
	case policy.PrefixAware:
		a.Price = s.Number(tokenPrice)
		a.TieSeconds = seconds(s.Uint(tieBand))
		a.IgnorePrior = s.Bool(ignorePrior)
		d.own = a
	case policy.Topology:
		a.Overload = s.Number(overloadFactor)
		a.OverloadSeconds = seconds(s.Uint(stickyUntil))
		d.own = a
	}
	return d
}

// start returns the state of a target that has seen no request.
func start(d *Definition, seed uint64) *Instance {
	if d.own != nil {
		return &Instance{own: d.own.New(seed)}
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
