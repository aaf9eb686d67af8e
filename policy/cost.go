// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/kvsteer/kvsteer/policy/hrw"

// cost is what a candidate costs, in seconds.
type cost struct {
	high   float64 // with what it is known to hold
	low    float64 // if it holds all it may turn out to hold; set by rankEarly only
	fixed  float64 // whatever the prompt's length
	factor float64 // for each byte to compute
	age    float64 // seconds its cache keeps a block
	match  int     // bytes that placements tell of
	rank   int32   // place in the rendezvous ranking, where ranks cost something
}

// band is how close to the lowest a cost must be to count as equal to it.
type band struct {
	seconds float64
	share   float64
}

// above is the highest cost that counts as equal to lowest.
func (b band) above(lowest float64) float64 {
	return lowest + max(b.seconds, b.share*lowest)
}

// rankByCost ranks the candidates of d by the upper end of their costs: first
// those within the tie band of the lowest, by their rendezvous rank for key,
// then the others by cost (of equal ones, the lower ID first).
func (p *Pool) rankByCost(d *Draw, key uint64, b band) {
	lowest := p.costs[0].high
	for i := range d.Candidates {
		lowest = min(lowest, p.costs[i].high)
	}
	limit := b.above(lowest)
	p.members = p.members[:0]
	var rest [MaxEndpoints]int
	n := 0
	for i := range d.Candidates {
		if p.costs[i].high <= limit {
			p.members = append(p.members, i)
		} else {
			n = p.insert(&rest, n, i)
		}
	}
	p.rankMembers(d, key)
	for _, i := range rest[:min(n, MaxEndpoints-len(d.Ranked))] {
		d.Ranked = append(d.Ranked, d.Candidates[i])
	}
}

// rankMembers appends the members of the tie band, best rank first.
func (p *Pool) rankMembers(d *Draw, key uint64) {
	if len(p.members) == 1 {
		d.Ranked = append(d.Ranked, d.Candidates[p.members[0]])
		return
	}
	p.ranks = hrw.Rank(p.ranks[:0], key, p.memberNodes(d), MaxEndpoints)
	for _, m := range p.ranks {
		d.Ranked = append(d.Ranked, d.Candidates[p.members[m]])
	}
}

// memberNodes is the rendezvous nodes of the members of the tie band.
func (p *Pool) memberNodes(d *Draw) []hrw.Node {
	if len(p.members) == len(p.nodes) {
		return p.nodes
	}
	p.subset = p.subset[:0]
	for _, i := range p.members {
		p.subset = append(p.subset, p.nodes[d.Candidates[i]])
	}
	return p.subset
}

// insert puts candidate i among the n cheapest of best; it returns the new n.
func (p *Pool) insert(best *[MaxEndpoints]int, n, i int) int {
	at := n
	for at > 0 && p.costs[i].high < p.costs[best[at-1]].high {
		at--
	}
	if at == MaxEndpoints {
		return n
	}
	copy(best[at+1:], best[at:])
	best[at] = i
	return min(n+1, MaxEndpoints)
}
