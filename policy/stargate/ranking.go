// SPDX-License-Identifier: Apache-2.0

package stargate

import "math"

// ranking is an order of positions by score, highest first, equal ones by
// position and so by ID. It is a heap of which no more is sorted than is asked
// for.
type ranking struct {
	scores []float64 // by position; never NaN
	heap   []int32   // positions that have no rank yet
	ranks  []int32   // positions by rank, as far as known
}

// start orders these positions, whose scores are set.
func (k *ranking) start(positions []int32) {
	k.heap, k.ranks = append(k.heap[:0], positions...), k.ranks[:0]
	for i := len(k.heap)/2 - 1; i >= 0; i-- {
		k.sift(i)
	}
}

// score ranks the endpoints with a valid rate by weighted rendezvous hashing.
// Cost: a hash and a logarithm for each.
func (p *Picker) score() {
	p.fields = p.fields.start(p.d, p.r).add(tagAffinityKey, p.r.AffinityKey)
	prefix := len(p.fields)
	k := &p.ranking
	k.scores, p.members = k.scores[:0], p.members[:0]
	for i := range p.endpoints {
		e := &p.endpoints[i]
		score, rate := 0.0, e.rate()
		if rate > 0 {
			p.fields = p.fields[:prefix].add(tagEndpoint, e.ID)
			score = rate / -math.Log(unit(p.fields.sum()))
			p.members = append(p.members, int32(i))
		}
		k.scores = append(k.scores, score)
	}
	k.start(p.members)
}

// unit maps a hash into (0, 1).
func unit(h uint64) float64 {
	const belowOne = 1 - 1.0/(1<<53)
	return min((float64(h)+1)/(1<<64), belowOne)
}

// len returns how many endpoints have a rank.
func (k *ranking) len() int { return len(k.ranks) + len(k.heap) }

// at returns the position of the endpoint at a rank, which counts from 0 and is
// below len.
func (k *ranking) at(rank int) int32 {
	for len(k.ranks) <= rank {
		last := len(k.heap) - 1
		k.ranks = append(k.ranks, k.heap[0])
		k.heap[0] = k.heap[last]
		k.heap = k.heap[:last]
		k.sift(0)
	}
	return k.ranks[rank]
}

// before reports whether position i ranks above j.
func (k *ranking) before(i, j int32) bool {
	if k.scores[i] != k.scores[j] {
		return k.scores[i] > k.scores[j]
	}
	return i < j
}

// sift moves the element at i down to where the heap is in order again.
func (k *ranking) sift(i int) {
	for {
		child := 2*i + 1
		if child >= len(k.heap) {
			return
		}
		if child+1 < len(k.heap) && k.before(k.heap[child+1], k.heap[child]) {
			child++
		}
		if !k.before(k.heap[child], k.heap[i]) {
			return
		}
		k.heap[i], k.heap[child] = k.heap[child], k.heap[i]
		i = child
	}
}

// band returns the ranks [from, to) of the band that begins at from, counted
// from 0: their number doubles from band to band, the last is cut off.
func band(from, ranked int) (to int) { return min(2*from+1, ranked) }
