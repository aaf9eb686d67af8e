// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"

	"github.com/kvsteer/kvsteer/policy/hrw"
)

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
// then the others by cost (of equal ones, the lower ID first). ranks is the
// beginning of the rendezvous ranking of all candidates, or nil.
func (p *Pool) rankByCost(d *Draw, key uint64, b band, ranks []int32) {
	costs := p.high[:len(d.Candidates)]
	lowest := costs[0]
	for _, c := range costs {
		lowest = min(lowest, c)
	}
	limit := b.above(lowest)
	p.members = p.members[:0]
	var rest [MaxChoices]int
	n, bar := 0, math.Inf(1) // costs above the bar are of no use
	for i, c := range costs {
		switch {
		case c > bar:
		case c <= limit:
			p.members = append(p.members, i)
		default:
			if n = p.insert(&rest, n, i); n == MaxChoices {
				bar = p.high[rest[n-1]]
			}
		}
	}
	p.rankMembers(d, key, ranks, limit)
	for _, i := range rest[:min(n, MaxChoices-len(d.Ranked))] {
		d.Ranked = append(d.Ranked, d.Candidates[i])
	}
}

// rankMembers appends the members of the tie band, best rank first. Where the
// known ranks name enough of them, no hash is computed.
func (p *Pool) rankMembers(d *Draw, key uint64, ranks []int32, limit float64) {
	want := min(len(p.members), MaxChoices)
	for _, i := range ranks {
		if len(d.Ranked) < want && p.high[i] <= limit {
			d.Ranked = append(d.Ranked, d.Candidates[i])
		}
	}
	if len(d.Ranked) == want {
		return
	}
	d.Ranked = d.Ranked[:0]
	p.best = hrw.Rank(p.best[:0], key, p.memberNodes(d), MaxChoices)
	for _, m := range p.best {
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
func (p *Pool) insert(best *[MaxChoices]int, n, i int) int {
	at := n
	for at > 0 && p.high[i] < p.high[best[at-1]] {
		at--
	}
	if at == MaxChoices {
		return n
	}
	copy(best[at+1:], best[at:])
	best[at] = i
	return min(n+1, MaxChoices)
}
