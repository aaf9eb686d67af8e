// SPDX-License-Identifier: Apache-2.0

package stargate

import "math"

// ranking is pulsar's order of the endpoints with a valid rate: by weighted
// rendezvous score, highest first, equal ones by ID. It is a heap of which no
// more is sorted than is asked for.
type ranking struct {
	scores []float64 // by position
	heap   []int32   // positions that have no rank yet
	ranks  []int32   // positions by rank, as far as known
}

// start scores all endpoints. Cost: a hash and a logarithm for each.
func (k *ranking) start(f fields, r *Request, endpoints []Endpoint) fields {
	f = f.add(tagAffinityKey, r.AffinityKey)
	prefix := len(f)
	k.heap, k.ranks = k.heap[:0], k.ranks[:0]
	k.scores = k.scores[:0]
	for i := range endpoints {
		rate := endpoints[i].rate()
		score := 0.0
		if rate > 0 {
			f = f[:prefix].add(tagEndpoint, endpoints[i].ID)
			score = rate / -math.Log(unit(f.sum()))
			k.heap = append(k.heap, int32(i))
		}
		k.scores = append(k.scores, score)
	}
	for i := len(k.heap)/2 - 1; i >= 0; i-- {
		k.sift(i)
	}
	return f
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

// before reports whether position i ranks above j. IDs ascend with positions.
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
