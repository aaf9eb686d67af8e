// SPDX-License-Identifier: Apache-2.0

package hrw

import (
	"math"

	"github.com/cespare/xxhash/v2"
)

// Node is one bearer of keys.
type Node struct {
	Seed   uint64  // [Seed] of the node's name; two nodes with one seed are one node to every key
	Weight float64 // [Weight] of the capacity; a node whose weight isn't above 0 is never named
}

// Seed returns the seed of the node called id: its xxHash64 with seed 0.
func Seed(id string) uint64 { return xxhash.Sum64String(id) }

// Score returns -w/ln(u) of a key and a node, 0 for a node that is never
// named. Scores of nodes with different weights compare as [First] does unless
// they are equal.
func Score(key uint64, n Node) float64 {
	if !(n.Weight > 0) {
		return 0
	}
	return score(mix(key, n.Seed), n.Weight)
}

// First returns the index of the node with the highest score, -1 where there
// is none to name. Equal scores are decided by the mix, which differs for
// different seeds, then by the lower index.
//
// Cost: one mix per node. While all weights are equal the mixes decide and no
// logarithm is taken; otherwise about one for each time the lead changes.
func First(key uint64, nodes []Node) int {
	best := leader{index: -1, weight: math.NaN()} // NaN equals no node's weight
	for i := range nodes {
		m := mix(key, nodes[i].Seed)
		if !best.loses(m, nodes[i].Weight) {
			best.challenge(i, m, nodes[i].Weight)
		}
	}
	return best.index
}

// leader is the best node so far. Its score is taken only once a node of
// another weight asks for it.
type leader struct {
	index  int
	mix    uint64
	weight float64
	score  float64 // 0 = not taken
	reach  float64 // [reach] of the score
}

// loses reports that a node certainly loses, as most do. It is inlined.
func (l *leader) loses(m uint64, weight float64) bool {
	return weight == l.weight && m <= l.mix || hopeless(m, weight, l.reach)
}

// challenge compares with a node that may win.
func (l *leader) challenge(i int, m uint64, weight float64) {
	if weight == l.weight {
		l.index, l.mix, l.score, l.reach = i, m, 0, 0
		return
	}
	if !(weight > 0) {
		return
	}
	if l.index >= 0 && l.score == 0 {
		l.score = score(l.mix, l.weight)
		l.reach = reach(l.score)
	}
	s := score(m, weight)
	if s > l.score || s == l.score && m > l.mix {
		*l = leader{index: i, mix: m, weight: weight, score: s, reach: reach(s)}
	}
}

// mix returns the 64 random bits of a key and a seed: the output function of
// splitmix64. It is a bijection, so different seeds never tie on one key.
func mix(key, seed uint64) uint64 {
	z := key ^ seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
