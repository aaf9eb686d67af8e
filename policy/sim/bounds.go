// SPDX-License-Identifier: Apache-2.0

package sim

// oraclePrice is what a token costs the greedy oracles that has to be computed,
// in tokens of queue.
const oraclePrice = 3

// oracle sees the true cache of every engine and takes the engine with the
// lowest queue + 3 · uncached. It is greedy, so it can be beaten.
type oracle struct {
	g     *Gateway
	fresh bool // the true queues too
}

func newOracle(g *Gateway) Policy      { return &oracle{g: g} }
func newFreshOracle(g *Gateway) Policy { return &oracle{g: g, fresh: true} }

// Pick implements Policy.
func (p *oracle) Pick(r *Request, _ float64) (int, float64) {
	e := p.g.least(func(e int, l *Load) float64 {
		queue := l.Queue
		if p.fresh {
			queue = p.g.fleet[e].queue()
		}
		return queue + oraclePrice*float64(p.g.fleet[e].uncached(r))
	})
	return e, float64(p.g.fleet[e].uncached(r))
}

// newInfinite is least queued tokens with true queues; Run gives its engines
// one unbounded cache for all, so that every block is computed once.
func newInfinite(g *Gateway) Policy {
	return &infinite{g}
}

type infinite struct{ g *Gateway }

// Pick implements Policy.
func (p *infinite) Pick(r *Request, _ float64) (int, float64) {
	e := p.g.least(func(e int, _ *Load) float64 { return p.g.fleet[e].queue() })
	return e, float64(p.g.fleet[e].uncached(r))
}
