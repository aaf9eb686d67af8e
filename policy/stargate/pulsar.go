// SPDX-License-Identifier: Apache-2.0

package stargate

// feasible reports whether the endpoint at this position may be chosen, and if
// not, whether that is for want of room in its KV cache.
func (p *Picker) feasible(position int32) (ok, kv bool) {
	if p.excluded[position] {
		return false, false
	}
	if p.d.considerKV && !p.endpoints[position].holds(p.r) {
		return false, true
	}
	return true, false
}

// nextRanked walks the ranking from the top.
func (p *Picker) nextRanked() (int32, Outcome) {
	skipped := false
	for rank := range p.ranking.len() {
		position := p.ranking.at(rank)
		ok, kv := p.feasible(position)
		if ok {
			return position, Outcome{RankDepth: rank + 1, KVSkip: skipped}
		}
		skipped = skipped || kv
	}
	return -1, Outcome{}
}

// nextInBands takes the first in the ranking if no queue limit applies, even
// when it is full; else the best of the nearest band that has one. An endpoint
// of a further band never overtakes.
func (p *Picker) nextInBands() (int32, Outcome) {
	ranked := p.ranking.len()
	if ranked > 0 && !p.d.limited {
		if ok, _ := p.feasible(p.ranking.at(0)); ok {
			return p.ranking.at(0), Outcome{RankDepth: 1}
		}
	}
	for from := 0; from < ranked; {
		to := band(from, ranked)
		p.members = p.members[:0]
		for rank := from; rank < to; rank++ {
			position := p.ranking.at(rank)
			if ok, _ := p.feasible(position); ok {
				p.members = append(p.members, position)
			}
		}
		if position := p.widen(p.members, p.emptier); position >= 0 {
			return position, p.ranked(position)
		}
		from = to
	}
	return -1, Outcome{}
}

// ranked describes the choice of a position that has a rank.
func (p *Picker) ranked(chosen int32) Outcome {
	o := Outcome{}
	for rank := range p.ranking.len() {
		position := p.ranking.at(rank)
		if position == chosen {
			o.RankDepth = rank + 1
			break
		}
		_, kv := p.feasible(position)
		o.KVSkip = o.KVSkip || kv
	}
	return o
}
