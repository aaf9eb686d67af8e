// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// Settings are what the operator says of a pool. The zero value is one gateway
// without zones.
type Settings struct {
	Gateways      int     // gateways that serve the pool without sharing what they know; 0 = 1
	FarFactor     float64 // cost factor of endpoints in other zones, ≥ 1; 0 = 1.25
	BytesPerToken float64 // canonical bytes of a token; 0 = learn it, from 4
	Seed          uint64  // random source of its instances
}

// Pool picks among the endpoints of one cluster.
//
// Invariant: nodes[i] and the candidate bit of an endpoint are those of the
// i-th endpoint of the view, and the table knows exactly the listed endpoints
// that it had room for. SetEndpoints changes all three in one call.
type Pool struct {
	settings Settings
	view     load.View
	table    *table.Table
	ratio    load.Estimate // canonical bytes per token
	prior    prior
	heads    heads
	nodes    []hrw.Node
	everyone []int    // all positions
	bits     []uint64 // all table indices
	standard Instance

	ages      []age   // by position in the view, as of agesAt
	meanAge   float64 // of the pool's endpoints, seconds
	meanYouth float64 // likewise
	agesAt    time.Duration
	agesKnown bool

	// Scratch of one pick, sized by SetEndpoints.
	draw    Draw
	drawn   []int      // candidates, where they aren't everyone
	asked   []uint64   // their table indices
	subset  []hrw.Node // their nodes, or those of the tie band
	match   []uint32   // by table index
	high    []float64  // cost by candidate, with what it is known to hold
	low     []float64  // cost by candidate, if it holds all it may turn out to hold
	held    []int32    // bytes that placements tell of, by candidate
	ranks   []int32    // rendezvous ranking of the candidates, as far as it was asked for
	best    []int32    // rendezvous ranking of the members of the tie band
	members []int      // candidates within the tie band
}

// NewPool makes a pool over t, which may serve several pools. d is the
// algorithm of requests that ask for none.
func NewPool(s Settings, d Definition, t *table.Table) *Pool {
	s.Gateways = max(s.Gateways, 1)
	if s.FarFactor == 0 {
		s.FarFactor = defaultFarFactor
	}
	p := &Pool{settings: s, table: t}
	p.view.FarFactor = s.FarFactor
	p.ratio = load.NewEstimate(load.RatioPrior(), s.BytesPerToken)
	p.prior = newPrior(s.Gateways)
	p.standard = d.New(s.Seed)
	p.draw.pool = p
	p.draw.Ranked = make([]int, 0, MaxChoices)
	return p
}

// defaultFarFactor makes an endpoint of another zone pay a quarter more.
const defaultFarFactor = 1.25

// SetEndpoints makes specs the endpoints of the pool. Those that leave are gone
// from table, rendezvous hashing and load when it returns; flights that still
// name them stay safe. Cost: O(endpoints · log endpoints + placements removed).
func (p *Pool) SetEndpoints(specs []load.Spec) {
	change := p.view.SetEndpoints(specs)
	for _, e := range change.Removed {
		if e.Index != load.None {
			p.table.Remove(e.Index)
			e.Place(load.None)
		}
	}
	for _, e := range change.Added {
		if i, ok := p.table.Add(0); ok {
			e.Place(i)
		}
	}
	list := p.view.Endpoints()
	top := 0
	for _, e := range list {
		top = max(top, e.Index+1)
	}
	p.resize(len(list), top)
	for at, e := range list {
		p.everyone[at] = at
		p.nodes[at] = hrw.Node{Seed: hrw.Seed(e.ID), Weight: hrw.Weight(weight(e))}
		if e.Index != load.None {
			p.bits[e.Index>>6] |= 1 << (e.Index & 63)
			// Gateways that share nothing fill an engine's cache together: what
			// one of them has sent there lives through its share of the room.
			p.table.SetCapacity(e.Index, e.Capacity/uint64(p.settings.Gateways))
		}
	}
}

func weight(e *load.Endpoint) float64 {
	if e.Weight > 0 {
		return e.Weight
	}
	return 1
}

// resize makes all that is kept for each endpoint fit n of them, with table
// indices below top.
func (p *Pool) resize(n, top int) {
	p.nodes = make([]hrw.Node, n)
	p.everyone, p.drawn = make([]int, n), make([]int, 0, n)
	p.bits, p.asked = make([]uint64, (top+63)/64), make([]uint64, (top+63)/64)
	p.ages, p.agesKnown = make([]age, n), false
	p.subset = make([]hrw.Node, 0, n)
	p.match = make([]uint32, top)
	p.high, p.low = make([]float64, n), make([]float64, n)
	p.held = make([]int32, n)
	p.ranks, p.best = make([]int32, 0, n), make([]int32, 0, MaxChoices)
	p.members = make([]int, 0, n)
}

// View is the load of the pool, for reports of statistics and for Tick.
func (p *Pool) View() *load.View { return &p.view }

// Restarted forgets what e was believed to hold: its cache is empty.
func (p *Pool) Restarted(e *load.Endpoint) {
	if e.Index != load.None {
		p.table.Reset(e.Index)
	}
}

// Standard is the instance for requests that ask for no algorithm.
func (p *Pool) Standard() Instance { return p.standard }

// Pick chooses with what is known so far. a is the instance to ask, nil for
// the pool's own. The decision is empty if no endpoint may be chosen.
func (p *Pool) Pick(a Instance, r *Request) Decision {
	if a == nil {
		a = p.standard
	}
	if !p.look(r) {
		return Decision{}
	}
	a.Rank(&p.draw)
	d := p.decide(r)
	d.Final = a.Need().met(r)
	return d
}

// Early chooses if the rest of the body can't change the first endpoint, given
// the load and the placements of this moment. Otherwise it touches nothing and
// reports false.
func (p *Pool) Early(a Instance, r *Request) (Decision, bool) {
	if a == nil {
		a = p.standard
	}
	if a.Need().met(r) {
		return p.Pick(a, r), true
	}
	w, ok := a.(waiter)
	if !ok || !w.mayEnd(r) || !p.look(r) || !w.rankEarly(&p.draw) {
		return Decision{}, false
	}
	d := p.decide(r)
	d.Final = true
	return d, true
}

// waiter is an algorithm that needs the prompt and can tell when what is
// missing of it doesn't matter. rankEarly ranks as Rank does and reports
// whether the first is final.
type waiter interface {
	// mayEnd reports whether enough of r is known for that at all; it spares the
	// look at the pool where it isn't.
	mayEnd(r *Request) bool
	rankEarly(d *Draw) bool
}

// look draws the candidates and their matches; false if there is none.
func (p *Pool) look(r *Request) bool {
	d := &p.draw
	d.Request, d.Ranked = r, d.Ranked[:0]
	d.prior, d.hoped = 0, 0
	asked := p.bits
	d.Candidates = p.everyone
	if !p.view.AllReady() || len(r.Excluded) > 0 {
		asked = p.sift(r)
	}
	if len(d.Candidates) == 0 {
		return false
	}
	p.table.Match(p.match, r.chain(), asked)
	return true
}

// sift leaves out who may not be chosen; it returns the table indices of the others.
func (p *Pool) sift(r *Request) []uint64 {
	p.drawn = p.drawn[:0]
	clear(p.asked)
	for at, q := range p.view.Quotes() {
		if q.State == load.Blocked || r.excludes(int(q.Index)) {
			continue
		}
		if q.State == load.Tripped && !p.view.Endpoints()[at].Ready(r.Now) {
			continue
		}
		p.drawn = append(p.drawn, at)
		if q.Index != load.None {
			p.asked[q.Index>>6] |= 1 << (q.Index & 63)
		}
	}
	p.draw.Candidates = p.drawn
	return p.asked
}

// matched is the bytes that the endpoint with this table index holds of r,
// tools included.
func (p *Pool) matched(r *Request, index int) int {
	if index == load.None || p.match[index] == 0 {
		return 0
	}
	return int(p.match[index]) + r.TagBytes
}

// nodesOf is the rendezvous nodes of these candidates.
func (p *Pool) nodesOf(candidates []int) []hrw.Node {
	if len(candidates) == len(p.nodes) {
		return p.nodes
	}
	p.subset = p.subset[:0]
	for _, at := range candidates {
		p.subset = append(p.subset, p.nodes[at])
	}
	return p.subset
}

// decide turns the ranked candidates into a decision.
func (p *Pool) decide(r *Request) Decision {
	var d Decision
	for _, at := range p.draw.Ranked {
		d.Endpoints[d.N] = p.draw.Endpoint(at)
		d.N++
	}
	if d.N > 0 {
		d.Match = min(p.matched(r, d.Endpoints[0].Index), r.Length)
		d.Prior = p.draw.prior
		d.Uncached = r.Length - min(max(d.Match, p.draw.hoped), r.Length)
	}
	return d
}

// stillMatches reports whether an endpoint that is known to hold match bytes of
// r holds all that is there so far, so that it may hold more of what follows.
func (p *Pool) stillMatches(r *Request, match int) bool {
	n := len(r.Ends)
	return !r.Complete && (n == 0 || match == int(r.Ends[n-1])+r.TagBytes)
}

// Tokens is canonical bytes in tokens.
func (p *Pool) Tokens(bytes int) float64 { return float64(bytes) / p.ratio.Value() }
