// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"

	"github.com/kvsteer/kvsteer/policy/hrw"
)

// rankEarly implements waiter: it ranks by what is known, and reports whether
// the first endpoint is the one that Rank would put first with the whole body,
// if load and placements stayed as they are.
//
// Preconditions: the tag is complete, and head and conversation key are known,
// so that key, discounts, ages and ranks are what they will be; and either it is
// known that a candidate holds more than the head, or none can turn out to, so
// that the tie band is what it will be. What the rest of the body can still
// change is how much each candidate is believed to hold, and where it wasn't
// announced, the length.
//
// Claim, length known: let each candidate's final cost lie in [low, high]; the
// lowest final cost m then lies in [min low, min high]. The tie band is
// monotone, so every candidate that may end up within the band of m is in
//
//	B = {e : low(e) ≤ above(min high)}
//
// and e certainly does if high(e) ≤ above(min low of the others), for its own
// cost is within its own band. If the member f of B that has the best rendezvous
// rank certainly ends up within the band, it is first: nobody outside B can be
// in the band, and nobody in B ranks better.
//
// The interval holds: costs fall as a candidate is believed to hold more. One
// whose match has ended can't gain, since blocks are hashed with all before
// them; one that still matches gains at most the rest; the primary gains at
// most φ·length by a later assistant turn; none can lose.
//
// Claim, length unknown: the cost of a candidate that gains nothing grows by
// its factor for each byte of the rest. If f is the primary, costs at worst no
// more than any other does at best, grows no faster than any other, and no
// other still matches, then it costs least for every length, and no rank in
// the band beats the primary's.
func (a PrefixAware) rankEarly(d *Draw) bool {
	r, p := d.Request, d.pool
	s := a.survey(d)
	if !s.known && p.anyStillMatches(d) {
		return false // the tie band may go
	}
	p.rankByCost(d, s.key, s.band, p.ranks)
	s.report(d)
	if r.LengthKnown {
		p.lower(d, &s)
		return p.settled(d, s.key, s.band)
	}
	return p.outgrown(d, &s)
}

// anyStillMatches reports whether a candidate holds all that is there so far.
func (p *Pool) anyStillMatches(d *Draw) bool {
	for i := range d.Candidates {
		if p.stillMatches(d.Request, int(p.held[i])) {
			return true
		}
	}
	return false
}

// mayEnd implements waiter: the preconditions of rankEarly that a request shows
// by itself.
func (PrefixAware) mayEnd(r *Request) bool { return r.TagKnown && r.HeadKnown && r.KeyKnown }

// lower sets the lower ends of all costs, and takes the upper end of the
// primary's without its prior where another candidate may still turn out to
// hold more than it.
func (p *Pool) lower(d *Draw, s *survey) {
	r := d.Request
	best, others := 0, false
	for i := range d.Candidates {
		held := int(p.held[i])
		most := held
		if p.stillMatches(r, held) {
			most = r.Length
			others = others || i != s.primary
		}
		if i != s.primary {
			best = max(best, held)
		}
		p.low[i] = p.cost(d, s, i, most)
	}
	held := int(p.held[s.primary])
	if s.phi > 0 && (p.stillMatches(r, held) || p.livesHere(s, best)) {
		// A later assistant turn may move prev up to the end.
		p.low[s.primary] = min(p.low[s.primary], p.cost(d, s, s.primary, int(s.phi*float64(r.Length))))
	}
	if others {
		p.high[s.primary] = p.cost(d, s, s.primary, held) - s.last
	}
	p.prefer(s, p.low)
}

// settled decides the claim for a known length; costs and the ranking by their
// upper ends are in the pool's scratch.
func (p *Pool) settled(d *Draw, key uint64, b band) bool {
	lowest := p.high[0]
	for i := range d.Candidates {
		lowest = min(lowest, p.high[i])
	}
	possible := b.above(lowest)
	p.members = p.members[:0]
	for i := range d.Candidates {
		if p.low[i] <= possible {
			p.members = append(p.members, i)
		}
	}
	best := hrw.First(key, p.memberNodes(d))
	if best < 0 || d.Candidates[p.members[best]] != d.Ranked[0] {
		return false
	}
	first := p.members[best]
	others := math.Inf(1)
	for i := range d.Candidates {
		if i != first {
			others = min(others, p.low[i])
		}
	}
	return p.high[first] <= b.above(others)
}

// outgrown decides the claim for an unknown length.
func (p *Pool) outgrown(d *Draw, s *survey) bool {
	first := d.Candidates[s.primary]
	if d.Ranked[0] != first {
		return false
	}
	quotes := p.view.Quotes()
	high, factor := p.high[s.primary], s.factor(&quotes[first], &p.ages[first])
	for i, at := range d.Candidates {
		if i == s.primary {
			continue
		}
		if p.high[i] < high || s.factor(&quotes[at], &p.ages[at]) < factor || p.stillMatches(d.Request, int(p.held[i])) {
			return false
		}
	}
	return true
}
