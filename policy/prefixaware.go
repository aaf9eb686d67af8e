// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/kvsteer/kvsteer/policy/hrw"

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
	head    int     // bytes of the head, tools included
	primary int     // candidate that is the key's primary
	basis   int     // bytes that φ is taken of: max(prev, head if the key is the head's)
	phi     float64 // φ
	reuse   float64 // HeadDiscount · arrivals/s of the head for each candidate
	rank    float64 // cost of one rank in seconds
	hoped   int     // bytes that the primary is believed to hold by φ
}

// report puts what the decision is to tell of the first endpoint into d.
func (s *survey) report(d *Draw) {
	if d.Ranked[0] == d.Candidates[s.primary] && s.hoped > 0 {
		d.prior = s.basis
		d.hoped = s.hoped
	}
}

// survey puts the costs of all candidates into the pool's scratch.
func (a PrefixAware) survey(d *Draw) survey {
	p, r := d.pool, d.Request
	s := survey{key: r.Key, head: r.head(), phi: p.prior.value, basis: r.prev()}
	if a.IgnorePrior {
		s.phi = 0
	}
	p.refreshAges(r.Now)
	if s.head > 0 {
		arrive := p.table.Rate(r.HeadHash, r.Tag, r.Now) / float64(len(d.Candidates))
		s.reuse = a.HeadDiscount * arrive
		if arrive*p.meanAge < a.HeadReuse {
			s.key = r.HeadHash
			s.basis = max(s.basis, s.head)
		}
	}
	a.order(d, &s)
	best := a.charge(d, &s)
	if hoped := int(s.phi * float64(s.basis)); s.phi > 0 && p.livesHere(d, &s, best) {
		s.hoped = hoped
		p.costs[s.primary].high = p.costs[s.primary].at(r.Length, &s, max(hoped, p.costs[s.primary].match))
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
		s.primary = hrw.First(s.key, nodes)
		return
	}
	for i := range nodes {
		p.costs[i].rank = maxRank
	}
	p.ranks = hrw.Rank(p.ranks[:0], s.key, nodes, maxRank)
	for rank, i := range p.ranks {
		p.costs[i].rank = int32(rank)
	}
	s.primary = int(p.ranks[0])
}

// charge sets what each candidate costs if it holds no more than is known, and
// returns the most that any but the primary is known to hold.
func (a PrefixAware) charge(d *Draw, s *survey) (best int) {
	p, r := d.pool, d.Request
	endpoints := p.view.Endpoints()
	perByte := 1 / p.ratio.Value()
	for i, at := range d.Candidates {
		e := endpoints[at]
		c := &p.costs[i]
		c.match = p.matched(r, e.Index)
		if c.match > best && i != s.primary {
			best = c.match
		}
		pace := e.Pace()
		if e.Far {
			pace *= p.settings.FarFactor
		}
		c.fixed = e.Queue()*pace + e.Penalty(r.Now)
		if s.rank > 0 {
			c.fixed += s.rank * float64(c.rank)
		}
		c.factor = (a.Price + a.Evict*p.ages[at].youth) * pace * perByte
		c.age = p.ages[at].seconds
		c.high = c.at(r.Length, s, c.match)
	}
	return best
}

// at is what c costs if it holds that much of a prompt of this length.
func (c *cost) at(length int, s *survey, believed int) float64 {
	believed = min(believed, length)
	if believed >= s.head {
		return c.fixed + c.factor*float64(length-believed)
	}
	shared := float64(s.head-believed) / (1 + s.reuse*c.age)
	return c.fixed + c.factor*(float64(length-s.head)+shared)
}

// livesHere reports whether the primary may be expected to hold what no
// placement tells of. It may not where another candidate is known to hold more
// of the conversation than it: then the conversation lives there, and the
// primary has not seen it.
func (p *Pool) livesHere(d *Draw, s *survey, best int) bool {
	return best <= max(p.costs[s.primary].match, s.head)
}
