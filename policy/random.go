// SPDX-License-Identifier: Apache-2.0

package policy

import "math/rand/v2"

// Random takes each candidate with the same probability.
type Random struct{}

type random struct {
	Random
	source *rand.Rand
}

// Name implements Definition.
func (Random) Name() string { return "random" }

// Need implements Definition.
func (Random) Need() Need { return NeedNothing }

// New implements Definition.
func (Random) New(seed uint64) Instance { return &random{source: newRand(seed)} }

// Rank implements Instance: the first places of a shuffle.
func (r *random) Rank(d *Draw) {
	c := d.Candidates
	for k := 0; k < min(len(c), MaxEndpoints); k++ {
		j := k + r.source.IntN(len(c)-k)
		c[k], c[j] = c[j], c[k]
		d.Ranked = append(d.Ranked, c[k])
	}
}
