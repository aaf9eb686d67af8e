// SPDX-License-Identifier: Apache-2.0

package stargate

import "math"

// estimate computes queues and times to the first token once per pick. A time
// that isn't a number is as bad as an infinite one.
func (p *Picker) estimate() {
	p.queues, p.fastest.scores = p.queues[:0], p.fastest.scores[:0]
	for i := range p.endpoints {
		e := &p.endpoints[i]
		queue := e.queue(p.r)
		ttft := e.RTT
		if !p.d.ignoreQueue {
			ttft += queue
		}
		if !p.d.ignorePrefill {
			ttft += e.prefill(p.r)
		}
		if math.IsNaN(ttft) {
			ttft = math.Inf(1)
		}
		p.queues = append(p.queues, queue)
		p.fastest.scores = append(p.fastest.scores, -ttft)
	}
}

// ttft returns what estimate found for a position.
func (p *Picker) ttft(position int32) float64 { return -p.fastest.scores[position] }

// widen picks among the fastest of members: those of the first bucket, and of
// further ones as the time that the request has waited unlocks them. It
// reorders members and returns -1 if none is left.
func (p *Picker) widen(members []int32, compare func(a, b int32) int) int32 {
	return p.best(p.unlocked(members), p.d.samples, compare)
}

// unlocked returns which of members may be sampled. Locked buckets stay locked
// even if all that is unlocked is full.
func (p *Picker) unlocked(members []int32) []int32 {
	limit := math.Inf(1)
	if p.d.limited {
		limit = p.d.queueLimit(p.r)
	}
	members = filter(members, func(m int32) bool { return !p.excluded[m] && p.queues[m] <= limit })
	members = p.buckets(members)
	return filter(members, func(m int32) bool { return !p.endpoints[m].full(p.d.maxQueued) })
}

// buckets returns the members that the time since the request came in unlocks.
// A bucket reaches as far from its first member as the definition says; each
// further one costs its distance times a factor, of one budget.
func (p *Picker) buckets(members []int32) []int32 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range members {
		low, high = min(low, p.ttft(m)), max(high, p.ttft(m))
	}
	if isFinite(high) && high-low <= p.d.bucket {
		return members
	}
	p.fastest.start(members)
	budget, start := milliseconds(p.r.Elapsed), low
	for rank := range members {
		ttft := p.ttft(p.fastest.at(rank))
		if !isFinite(ttft) {
			return p.fastest.ranks[:rank]
		}
		gap := ttft - start
		if gap <= p.d.bucket {
			continue
		}
		need := gap * p.d.factor
		if budget < need {
			return p.fastest.ranks[:rank]
		}
		budget -= need
		start = ttft
	}
	return p.fastest.ranks
}

// filter keeps the members that keep accepts, in place.
func filter(members []int32, keep func(int32) bool) []int32 {
	kept := members[:0]
	for _, m := range members {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}

func isFinite(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }
