// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"math"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// The canonical names of package policy's algorithms.
const (
	PrefixAware = "prefix-aware"
	Topology    = "topology"
	LeastLoad   = "least-load"
	RoundRobin  = "round-robin"
	Random      = "random"
)

// The names of their parameters.
const (
	fallbacks      = "fallbacks"
	ignorePrior    = "ignore_prior"
	tokenPrice     = "token_price"
	tieBand        = "tie_band_ms"
	stickyUntil    = "sticky_until_ms"
	overloadFactor = "overload_factor"
)

// Catalog returns all algorithms. Its default is prefix-aware.
func Catalog() (*expr.Catalog, error) {
	return expr.NewCatalog(PrefixAware, append(own(), stargate.Algorithms()...))
}

// own returns the declarations of package policy's algorithms. round-robin and
// random take no fallbacks: stargate has them too, without.
func own() []expr.Algorithm {
	with := func(p ...expr.Parameter) []expr.Parameter {
		return append(append(p, fallbacksOf()), stargate.Policies()...)
	}
	prefixAware, topology := policy.DefaultPrefixAware(), policy.DefaultTopology()
	return []expr.Algorithm{
		{
			Name: PrefixAware,
			Parameters: with(
				expr.Parameter{Name: ignorePrior, Type: expr.Bool, Default: expr.BoolValue(prefixAware.IgnorePrior)},
				expr.Parameter{
					Name: tokenPrice, Type: expr.Number, Default: expr.NumberValue(prefixAware.Price),
					Request: expr.Range{Min: 1, Max: 16}, Static: expr.Range{Min: 1, Max: 100},
				},
				expr.Parameter{
					Name: tieBand, Type: expr.Uint, Default: expr.UintValue(milliseconds(prefixAware.TieSeconds)),
					Request: expr.Range{Max: 1000}, Static: expr.Range{Max: 60_000},
				},
			),
		},
		{
			Name: Topology,
			Parameters: with(
				expr.Parameter{
					Name: stickyUntil, Type: expr.Uint, Default: expr.UintValue(milliseconds(topology.OverloadSeconds)),
					Request: expr.Range{Max: 60_000}, Static: expr.Range{Max: 3_600_000},
				},
				expr.Parameter{
					Name: overloadFactor, Type: expr.Number, Default: expr.NumberValue(topology.Overload),
					Request: expr.Range{Min: 1, Max: 100}, Static: expr.Range{Min: 1, Max: 1e6},
				},
			),
		},
		{Name: LeastLoad, Parameters: with()},
		{Name: RoundRobin, Stateful: true, Parameters: stargate.Policies()},
		{Name: Random, Parameters: stargate.Policies()},
	}
}

// fallbacksOf bounds how many endpoints are named for the case that the first
// fails.
func fallbacksOf() expr.Parameter {
	most := expr.Range{Max: policy.MaxEndpoints - 1}
	return expr.Parameter{
		Name: fallbacks, Type: expr.Uint, Default: expr.UintValue(policy.MaxEndpoints - 1),
		Request: most, Static: most,
	}
}

// milliseconds and seconds are for times within the ranges above.
func milliseconds(seconds float64) uint64 { return uint64(math.Round(seconds * 1000)) }

func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1000 }
