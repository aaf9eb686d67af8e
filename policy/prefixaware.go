// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// PrefixAware weighs what an endpoint already holds of the prompt against how
// busy it is, and takes the cheapest. For a request of L bytes and a candidate e
//
//	believed(e) = max(match(e), φ·max(prev, head if the key is the head's)) if e is the primary
//	              and no other is known to hold more of the conversation, else match(e)
//	uncached(e) = L − believed(e);  h(e) = what of it lies in the head
//	price(e)    = Price + Evict · (smallest age of all candidates / age(e))
//	work(e)     = price(e) · (uncached(e) − h(e) + h(e)/(1 + HeadDiscount·r(e)))
//	cost(e)     = (queue(e) + work(e)) / speed(e) · distance(e) + RankShare · load age · rank(e) + penalty(e)
//
// age(e) is how long e's cache keeps a block; r(e) is how often the head will
// be used again on e before it is pushed out: its arrivals/s · age(e) / number
// of candidates. The key is the head's hash while the pool's mean r is below
// HeadReuse, else the conversation's; the primary is the first candidate in the
// rendezvous ranking of the key, rank(e) the place in it. All costs within the
// tie band of the lowest count as equal and go by rank.
//
// Why: a computed token delays all that come after it and pushes out what
// others need (Price > 1); where it pushes out old blocks that costs less, so
// an idle fleet spreads instead of wearing one cache out (Evict); a copy of a
// much used head on one more endpoint serves all later conversations
// (HeadDiscount); heads that don't pay for a copy everywhere are split among
// the endpoints in the same way by every gateway (HeadReuse, φ); where load is
// old, a common order beats the common herd (RankShare). RATIONALE.md has the
// traces.
type PrefixAware struct {
	Price        float64 // cost of a computed token in tokens of delay
	Evict        float64 // further cost where it pushes out the youngest blocks of the fleet
	HeadDiscount float64 // weight of a head's further uses
	HeadReuse    float64 // uses before eviction below which a head's conversations stay together
	RankShare    float64 // share of the load's age that each rank costs; several gateways only
	TieSeconds   float64 // the tie band: at least this …
	TieShare     float64 // … and at least this share of the lowest cost
	IgnorePrior  bool    // φ = 0 whatever is learnt
}

// DefaultPrefixAware has the default parameters.
func DefaultPrefixAware() PrefixAware {
	return PrefixAware{
		Price: 2, Evict: 3, HeadDiscount: 0.3, HeadReuse: 4, RankShare: 0.25,
		TieSeconds: 0.010, TieShare: 0.05,
	}
}

// maxRank is the place from which on ranks are no longer told apart: by then
// the rank term alone is four load ages.
const maxRank = 16

// Name implements Definition.
func (PrefixAware) Name() string { return "prefix-aware" }

// Need implements Definition.
func (PrefixAware) Need() Need { return NeedPrompt }

// New implements Definition.
func (a PrefixAware) New(uint64) Instance { return a }

// Rank implements Instance.
func (a PrefixAware) Rank(d *Draw) {
	s := a.survey(d)
	d.pool.rankByCost(d, s.key, a.band())
	s.report(d)
}

func (a PrefixAware) band() band { return band{seconds: a.TieSeconds, share: a.TieShare} }

// survey is what the costs of one draw have in common.
type survey struct {
	key     uint64
	primary int     // position of the key's primary, −1 where nothing rests on it
	basis   int     // bytes that φ is taken of: max(prev, head if the key is the head's)
	phi     float64 // φ
	arrive  float64 // arrivals/s of the head for each candidate
	minAge  float64 // s
	rank    float64 // cost of one rank in seconds
	priorAt interval
}

// interval is what the primary holds by φ alone, in bytes, as far as it is
// known: least for certain, most at best.
type interval struct{ least, most int }

// report puts what the decision is to tell of the first endpoint into d.
func (s *survey) report(d *Draw) {
	if d.Ranked[0] == s.primary && s.priorAt.least > 0 {
		d.prior = s.basis
		d.hoped = s.priorAt.least
	}
}

// survey puts the costs of all candidates into the pool's scratch.
func (a PrefixAware) survey(d *Draw) survey {
	p, r := d.pool, d.Request
	s := survey{key: r.Key, primary: -1, phi: p.prior.value}
	if a.IgnorePrior {
		s.phi = 0
	}
	meanAge := p.ages(d, &s)
	head := r.head()
	if head > 0 {
		s.arrive = p.table.Rate(r.HeadHash, r.Tag, r.Now) / float64(len(d.Candidates))
	}
	s.basis = r.prev()
	if head > 0 && s.arrive*meanAge < a.HeadReuse {
		s.key = r.HeadHash
		s.basis = max(s.basis, head)
	}
	a.order(d, &s)
	s.priorAt = p.expected(d, &s)
	for i, at := range d.Candidates {
		c := &p.costs[i]
		a.charge(d, &s, at, c)
		c.low += s.rank * float64(c.rank)
		c.high += s.rank * float64(c.rank)
	}
	return s
}

// order finds the primary, and all ranks where they cost something.
func (a PrefixAware) order(d *Draw, s *survey) {
	p, r := d.pool, d.Request
	if p.settings.Gateways > 1 {
		s.rank = a.RankShare * p.view.Age(r.Now).Seconds()
	}
	nodes := d.Nodes()
	if s.rank == 0 {
		s.primary = d.Candidates[hrw.First(s.key, nodes)]
		return
	}
	for i := range nodes {
		p.costs[i].rank = maxRank
	}
	p.ranks = hrw.Rank(p.ranks[:0], s.key, nodes, maxRank)
	for rank, i := range p.ranks {
		p.costs[i].rank = int32(rank)
	}
	s.primary = d.Candidates[p.ranks[0]]
}

// charge sets c to the cost of the endpoint at this position, its rank aside:
// high if it holds no more than is known, low if it holds all of the rest of
// the prompt that it may still turn out to hold.
func (a PrefixAware) charge(d *Draw, s *survey, at int, c *cost) {
	p, r := d.pool, d.Request
	e := d.Endpoint(at)
	least := p.matched(r, e.Index)
	most := least
	if p.stillMatches(r, e.Index) {
		most = r.Length
	}
	if at == s.primary {
		least = max(least, s.priorAt.least)
		most = max(most, least, s.priorAt.most)
	}
	price := a.Price + a.Evict*s.minAge/c.age
	reuse := 1 / (1 + a.HeadDiscount*s.arrive*c.age)
	far := p.distance(e)
	speed := e.Speed(r.Now)
	c.factor = price * far / speed / p.ratio.Value()
	fixed := e.Queue(r.Now)*far/speed + e.Penalty(r.Now)
	head := r.head()
	c.high = fixed + c.factor*weigh(r.Length, head, least, reuse)
	c.low = c.high
	if most > least {
		c.low = fixed + c.factor*weigh(r.Length, head, most, reuse)
	}
}

// expected is what the primary may hold although no placement says so. Nothing
// where another candidate is known to hold more of the conversation than it:
// then the conversation lives there, and the primary has not seen it.
func (p *Pool) expected(d *Draw, s *survey) interval {
	r := d.Request
	own := max(p.matched(r, d.Endpoint(s.primary).Index), r.head())
	open := p.stillMatches(r, d.Endpoint(s.primary).Index) // its own match may grow
	others := false                                        // and so may another's
	best := 0
	for _, at := range d.Candidates {
		if at != s.primary {
			index := d.Endpoint(at).Index
			best = max(best, p.matched(r, index))
			others = others || p.stillMatches(r, index) && len(r.Hashes) > 0
		}
	}
	var i interval
	if best <= own || open {
		i.most = int(s.phi * float64(s.basis))
		if !r.Complete { // a later assistant turn may move prev
			i.most = max(i.most, int(s.phi*float64(r.Length)))
		}
	}
	if best <= own && !others {
		i.least = int(s.phi * float64(s.basis))
	}
	return i
}

// weigh is the bytes to compute, those of the head at a discount.
func weigh(length, head, believed int, reuse float64) float64 {
	believed = min(believed, length)
	h := max(head-believed, 0)
	return float64(length-believed-h) + float64(h)*reuse
}

// ages puts the age of each candidate's blocks into its cost, finds the
// smallest and returns the mean, in seconds.
func (p *Pool) ages(d *Draw, s *survey) float64 {
	total := 0.0
	s.minAge = maxAge.Seconds()
	for i, at := range d.Candidates {
		age := maxAge
		if index := d.Endpoint(at).Index; index != load.None {
			age = max(p.table.Age(index, d.Request.Now), minAge)
		}
		p.costs[i].age = age.Seconds()
		s.minAge = min(s.minAge, p.costs[i].age)
		total += p.costs[i].age
	}
	return total / float64(len(d.Candidates))
}

const (
	minAge = time.Millisecond // below it ages are noise
	maxAge = time.Hour        // an endpoint that holds nothing
)
