// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"math"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// The names of the parameters of package policy's algorithms.
const (
	fallbacks      = "fallbacks"
	ignorePrior    = "ignore_prior"
	tokenPrice     = "token_price"
	tieBand        = "tie_band_ms"
	stickyUntil    = "sticky_until_ms"
	overloadFactor = "overload_factor"
)

// Catalog returns all algorithms, package policy's and stargate's. Documents
// without a default get the first of policy.Definitions.
func Catalog() (*expr.Catalog, error) {
	own := policy.Definitions()
	var all []expr.Algorithm
	for _, d := range own {
		all = append(all, declaration(d))
	}
	return expr.NewCatalog(own[0].Name(), append(all, stargate.Algorithms()...))
}

// declaration returns an algorithm of package policy as expressions see it; the
// parameters of d are the defaults. round-robin and random take the operator's
// policies only, as the specification has it, and so no fallbacks either.
func declaration(d policy.Definition) expr.Algorithm {
	a := expr.Algorithm{Name: d.Name(), Parameters: stargate.Policies()}
	switch d := d.(type) {
	case policy.RoundRobin:
		a.Stateful = true
		return a
	case policy.Random:
		return a
	case policy.PrefixAware:
		a.Parameters = append(a.Parameters, parametersOfPrefixAware(d)...)
	case policy.Topology:
		a.Parameters = append(a.Parameters, parametersOfTopology(d)...)
	}
	a.Parameters = append(a.Parameters, fallbacksOf())
	return a
}

func parametersOfPrefixAware(d policy.PrefixAware) []expr.Parameter {
	return []expr.Parameter{
		{Name: ignorePrior, Type: expr.Bool, Default: expr.BoolValue(d.IgnorePrior)},
		{
			Name: tokenPrice, Type: expr.Number, Default: expr.NumberValue(d.Price),
			Request: expr.Range{Min: 1, Max: 16}, Static: expr.Range{Min: 1, Max: 100},
		},
		{
			Name: tieBand, Type: expr.Uint, Default: expr.UintValue(milliseconds(d.TieSeconds)),
			Request: expr.Range{Max: 1000}, Static: expr.Range{Max: 60_000},
		},
	}
}

func parametersOfTopology(d policy.Topology) []expr.Parameter {
	return []expr.Parameter{
		{
			Name: stickyUntil, Type: expr.Uint, Default: expr.UintValue(milliseconds(d.OverloadSeconds)),
			Request: expr.Range{Max: 60_000}, Static: expr.Range{Max: 3_600_000},
		},
		{
			Name: overloadFactor, Type: expr.Number, Default: expr.NumberValue(d.Overload),
			Request: expr.Range{Min: 1, Max: 100}, Static: expr.Range{Min: 1, Max: 1e6},
		},
	}
}

// fallbacksOf bounds how many endpoints are named for the case that the first
// fails.
func fallbacksOf() expr.Parameter {
	most := expr.Range{Max: policy.MaxChoices - 1}
	return expr.Parameter{
		Name: fallbacks, Type: expr.Uint, Default: expr.UintValue(policy.MaxChoices - 1),
		Request: most, Static: most,
	}
}

// milliseconds and seconds are for times within the ranges above.
func milliseconds(seconds float64) uint64 { return uint64(math.Round(seconds * 1000)) }

func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1000 }
