// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// PrefixAware weighs what an endpoint already holds of the prompt against how
// busy it is, and takes the cheapest. For a request of L bytes and a candidate e
//
//	believed(e) = max(match(e), φ·max(prev, head if the key is the head's)) if e is the primary
//	              and no other is known to hold more of the conversation, else match(e)
//	uncached(e) = L − believed(e);  h(e) = what of it lies in the head
//	price(e)    = Price + Evict · youth(e), or Price + Evict · the pool's mean youth for a known conversation
//	work(e)     = price(e) · (uncached(e) − h(e) + h(e)/(1 + HeadDiscount·r(e)))
//	cost(e)     = (queue(e) + work(e)) / speed(e) · distance(e) + RankShare · load age · rank(e) + penalty(e)
//
// age(e) is how long e's cache keeps a block, youth(e) the smallest age of the
// pool / age(e); r(e) is how often the head will be used again on e before it is
// pushed out: its arrivals/s · age(e) / number of candidates. The key is the
// head's while the pool's mean r is below HeadReuse and the head's arrivals are
// less than HeadShare of those that an endpoint has on average, else the
// conversation's. The primary is the first candidate in the rendezvous ranking
// of the key, rank(e) the place in it. A conversation is known once a candidate
// is known to hold more than its head. Until then all costs within the tie band
// of the lowest count as equal and go by rank. From then on a tie, or a price
// that is higher where younger blocks are pushed out, would only move it off its
// cache. With several gateways Price is Several times as high.
//
// Why: a computed token delays all that come after it and pushes out what
// others need (Price > 1); of several gateways, one that moves a conversation
// does it unseen by the others, which go on looking for it where it was
// (Several > 1); where a token pushes out old blocks it costs less, so
// an idle fleet spreads instead of wearing one cache out (Evict); a copy of a
// much used head on one more endpoint serves all later conversations
// (HeadDiscount); heads that don't pay for a copy everywhere are split among
// the endpoints in the same way by every gateway (HeadReuse, φ), as long as they
// aren't lumps too large to be spread evenly (HeadShare); where load is
// old, a common order beats the common herd (RankShare). RATIONALE.md has the
// traces.
type PrefixAware struct {
	Price        float64 // cost of a computed token in tokens of delay, with one gateway …
	Several      float64 // … and how many times that with several
	Evict        float64 // further cost where it pushes out the youngest blocks of the fleet
	HeadDiscount float64 // weight of a head's further uses
	HeadReuse    float64 // uses before eviction below which a head's conversations stay together …
	HeadShare    float64 // … if they are less than this share of an endpoint's part of all arrivals
	RankShare    float64 // share of the load's age that each rank costs; several gateways only
	TieSeconds   float64 // the tie band: at least this …
	TieShare     float64 // … and at least this share of the lowest cost
	IgnorePrior  bool    // φ = 0 whatever is learnt
}

// DefaultPrefixAware has the default parameters.
func DefaultPrefixAware() PrefixAware {
	return PrefixAware{
		Price: 2, Several: 2, Evict: 3, HeadDiscount: 0.1, HeadReuse: 4, HeadShare: 0.25, RankShare: 0.25,
		TieSeconds: 0.010, TieShare: 0.05,
	}
}

// maxRank is the place from which on ranks are no longer told apart: by then
// the rank term alone is two load ages.
const maxRank = 8

// Name implements Definition.
func (PrefixAware) Name() string { return "prefix-aware" }

// Need implements Definition.
func (PrefixAware) Need() Need { return NeedPrompt }

// New implements Definition.
func (a PrefixAware) New(uint64) Instance { return a }

// Rank implements Instance.
func (a PrefixAware) Rank(d *Draw) {
	p := d.pool
	s := a.survey(d)
	p.rankByCost(d, s.key, s.band, p.ranks)
	s.report(d)
}

// survey is what the costs of one draw have in common.
type survey struct {
	key     uint64
	length  int     // bytes of the prompt
	head    int     // bytes of its head, tools included
	primary int     // candidate that is the key's primary
	basis   int     // bytes that φ is taken of: max(prev, head if the key is the head's)
	phi     float64 // φ
	known   bool    // a candidate is known to hold more than the head
	band    band    // costs that count as equal
	lives   bool    // the primary may hold what no placement tells of …
	hoped   int     // … and is believed to hold this much of it
	reuse   float64 // HeadDiscount · arrivals/s of the head for each candidate
	rank    float64 // cost of one rank in seconds
	last    float64 // cost of the last rank that is told apart
	price   float64 // of a byte in tokens, wherever it is computed …
	evict   float64 // … and further where it pushes out the youngest
}

// report puts what the decision is to tell of the first endpoint into d.
func (s *survey) report(d *Draw) {
	if s.lives && d.Ranked[0] == d.Candidates[s.primary] {
		d.prior = s.basis
		d.hoped = s.hoped
	}
}

// survey puts the costs of all candidates into the pool's scratch.
func (a PrefixAware) survey(d *Draw) survey {
	p, r := d.pool, d.Request
	perByte := 1 / p.ratio.Value()
	s := survey{
		key: r.Key, length: r.Length, head: min(r.head(), r.Length), basis: r.prev(), phi: p.prior.value,
		price: a.price(p) * perByte, evict: a.Evict * perByte,
	}
	if a.IgnorePrior {
		s.phi = 0
	}
	p.refreshAges(r.Now)
	if s.head > 0 {
		n := float64(len(d.Candidates))
		arrive := p.heads.at(r.headKey(), r.Now)
		s.reuse = a.HeadDiscount * arrive / n
		if arrive/n*p.meanAge < a.HeadReuse && arrive*n < a.HeadShare*p.heads.all.at(r.Now) {
			s.key = r.headKey()
			s.basis = max(s.basis, s.head)
		}
	}
	a.order(d, &s)
	best := p.hold(d, &s)
	if s.known = max(best, int(p.held[s.primary])) > s.head; s.known {
		s.price, s.evict = s.price+s.evict*p.meanYouth, 0
	} else {
		s.band = band{seconds: a.TieSeconds, share: a.TieShare}
	}
	p.charge(d, &s)
	if s.lives = p.livesHere(&s, best); s.lives {
		s.hoped = int(s.phi * float64(s.basis))
		p.high[s.primary] = p.cost(d, &s, s.primary, max(s.hoped, int(p.held[s.primary])))
	}
	p.prefer(&s, p.high)
	return s
}

// price is the cost of a computed token in tokens of delay, whatever it pushes out.
func (a PrefixAware) price(p *Pool) float64 {
	if p.settings.Gateways > 1 {
		return a.Price * a.Several
	}
	return a.Price
}

// order ranks the candidates by rendezvous hashing as far as ranks are told
// apart. The first is the primary.
func (a PrefixAware) order(d *Draw, s *survey) {
	p := d.pool
	nodes := d.Nodes()
	if p.settings.Gateways == 1 {
		p.ranks = hrw.Rank(p.ranks[:0], s.key, nodes, MaxChoices)
		s.primary = int(p.ranks[0])
		return
	}
	p.ranks = hrw.Rank(p.ranks[:0], s.key, nodes, maxRank)
	s.primary = int(p.ranks[0])
	s.rank = a.RankShare * p.view.Age(d.Request.Now).Seconds()
	s.last = s.rank * maxRank
}

// prefer takes the ranks that are told apart off costs, which cost makes as if
// every candidate had the last.
func (p *Pool) prefer(s *survey, costs []float64) {
	if s.rank == 0 {
		return
	}
	for rank, i := range p.ranks {
		costs[i] -= s.last - s.rank*float64(rank)
	}
}

// hold sets what each candidate is known to hold, and returns the most that any
// but the primary does.
func (p *Pool) hold(d *Draw, s *survey) (best int) {
	quotes, held := p.view.Quotes(), p.held[:len(d.Candidates)]
	primary := d.Candidates[s.primary]
	for i, at := range d.Candidates {
		match := p.matched(d.Request, int(quotes[at].Index))
		held[i] = int32(match)
		if match > best && at != primary {
			best = match
		}
	}
	return best
}

// charge sets what each candidate costs with what it is known to hold.
func (p *Pool) charge(d *Draw, s *survey) {
	quotes, ages := p.view.Quotes(), p.ages
	held, high := p.held[:len(d.Candidates)], p.high[:len(d.Candidates)]
	for i, at := range d.Candidates {
		q := &quotes[at]
		high[i] = s.last + q.Wait + s.factor(q, &ages[at])*s.work(&ages[at], int(held[i]))
	}
}

// cost is what candidate i costs if it holds that much of the prompt and is of
// the last rank.
func (p *Pool) cost(d *Draw, s *survey, i, believed int) float64 {
	at := d.Candidates[i]
	q, a := &p.view.Quotes()[at], &p.ages[at]
	return s.last + q.Wait + s.factor(q, a)*s.work(a, believed)
}

// work is the bytes that remain to be computed, those of the head at a discount.
func (s *survey) work(a *age, believed int) float64 {
	if believed >= s.head {
		return float64(max(s.length-believed, 0))
	}
	return float64(s.length-s.head) + float64(s.head-believed)/(1+s.reuse*a.seconds)
}

// factor is the cost of one uncached byte in seconds.
func (s *survey) factor(q *load.Quote, a *age) float64 {
	return (s.price + s.evict*a.youth) * q.Pace
}

// livesHere reports whether the primary may be expected to hold what no
// placement tells of. It may not where another candidate is known to hold more
// of the conversation than it: then the conversation lives there, and the
// primary has not seen it.
func (p *Pool) livesHere(s *survey, best int) bool {
	return best <= max(int(p.held[s.primary]), s.head)
}
