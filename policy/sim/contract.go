// SPDX-License-Identifier: Apache-2.0

package sim

import "math/rand/v2"

// Policy picks engines for one gateway.
type Policy interface {
	// Pick returns the engine for r and the tokens it is expected to compute.
	// It may note that r goes there: the gateway does send it.
	Pick(r *Request, now float64) (engine int, uncached float64)
}

// Load is what a gateway knows of one engine.
type Load struct {
	Queue    float64 // prompt tokens that wait or are being computed
	Requests float64 // requests that have not ended
	Waiting  float64 // requests whose prefill has not begun
	KVUse    float64 // share of the KV cache that requests hold, 0 … 1
	Blocks   float64 // blocks that requests hold
	Down     bool
}

// Gateway is what a policy sees.
type Gateway struct {
	Index    int
	Count    int // gateways that share the load
	Model    Model
	Loads    []Load // by engine, as old as the setting says, own picks since added
	Random   *rand.Rand
	HashSeed uint64 // of block hashes and keys, the same for all gateways
	Options  Options
	fleet    []*Engine // for bounds only
	metrics  bool      // loads come from the gateway's own view
}

// Options are the switches of a run that concern the project's own policy.
type Options struct {
	Off         []string // terms of the cost that are switched off; see Terms
	KnowSpeeds  bool     // engines' rates are configured; else they are learnt, in the metrics view
	CountDecode bool     // running requests are counted in the cost
	NoUsage     bool     // answers don't tell how much of the prompt was cached
	Chunked     bool     // bodies come without a length
	TrustTag    bool     // the tag counts as complete once model and tools are read
}

// Maker makes a policy for a gateway.
type Maker struct {
	Name string
	What string // one line for tables
	New  func(g *Gateway) Policy
}

// up calls visit for each engine that is not down.
func (g *Gateway) up(visit func(e int, l *Load)) {
	for e := range g.Loads {
		if !g.Loads[e].Down {
			visit(e, &g.Loads[e])
		}
	}
}

// least is the engine with the lowest score; ties go to a random one.
func (g *Gateway) least(score func(e int, l *Load) float64) int {
	best, ties, lowest := -1, 0, 0.0
	g.up(func(e int, l *Load) {
		s := score(e, l)
		switch {
		case best < 0 || s < lowest:
			best, ties, lowest = e, 1, s
		case s == lowest:
			ties++
			if g.Random.IntN(ties) == 0 {
				best = e
			}
		}
	})
	return best
}

// beliefs is what a policy believes engines hold: one set of blocks for each.
type beliefs []*lru

func newBeliefs(g *Gateway, capacity int) beliefs {
	b := make(beliefs, len(g.Loads))
	for i := range b {
		b[i] = newLRU(capacity, g.Model.HeadsFirst)
	}
	return b
}

// uncached is the tokens of r that engine e is believed to have to compute.
func (b beliefs) uncached(e int, r *Request) float64 {
	return float64(max(r.Input-b[e].match(r.Blocks)*BlockTokens, 0))
}

// share is the share of r's blocks that engine e is believed to hold.
func (b beliefs) share(e int, r *Request) float64 {
	return float64(b[e].match(r.Blocks)) / float64(len(r.Blocks))
}

// send notes that e computes r, and returns what Pick is to return.
func (b beliefs) send(e int, r *Request) (int, float64) {
	u := b.uncached(e, r)
	b[e].use(r.Blocks)
	return e, u
}
