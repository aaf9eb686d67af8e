// SPDX-License-Identifier: Apache-2.0

package sim

// Policies that look at no prompt.

// roundRobinPolicy takes engines in turn.
type roundRobinPolicy struct {
	g    *Gateway
	turn int
}

func newRoundRobin(g *Gateway) Policy { return &roundRobinPolicy{g: g, turn: g.Index} }

// Pick implements Policy.
func (p *roundRobinPolicy) Pick(r *Request, _ float64) (int, float64) {
	for {
		e := p.turn % len(p.g.Loads)
		p.turn++
		if !p.g.Loads[e].Down {
			return e, float64(r.Input)
		}
	}
}

// loadPolicy takes the engine with the lowest score.
type loadPolicy struct {
	g     *Gateway
	score func(*Load) float64
}

func newLeastTokens(g *Gateway) Policy {
	return &loadPolicy{g, func(l *Load) float64 { return l.Queue }}
}

func newLeastRequests(g *Gateway) Policy {
	return &loadPolicy{g, func(l *Load) float64 { return l.Requests }}
}

func newRandom(g *Gateway) Policy {
	return &loadPolicy{g, func(*Load) float64 { return 0 }}
}

// Pick implements Policy.
func (p *loadPolicy) Pick(r *Request, _ float64) (int, float64) {
	return p.g.least(func(_ int, l *Load) float64 { return p.score(l) }), float64(r.Input)
}

// twoChoices takes the one with fewer requests of two engines drawn at random
// (Mitzenmacher, "The power of two choices", 2001; Envoy's least request).
type twoChoices struct{ g *Gateway }

func newTwoChoices(g *Gateway) Policy { return &twoChoices{g} }

// Pick implements Policy.
func (p *twoChoices) Pick(r *Request, _ float64) (int, float64) {
	var up []int
	p.g.up(func(e int, _ *Load) { up = append(up, e) })
	a := up[p.g.Random.IntN(len(up))]
	b := up[p.g.Random.IntN(len(up))]
	if p.g.Loads[b].Requests < p.g.Loads[a].Requests {
		a = b
	}
	return a, float64(r.Input)
}
