// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"
	"slices"
)

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

// Rank implements Instance: positions drawn until enough are different.
func (r *random) Rank(d *Draw) {
	for len(d.Ranked) < min(len(d.Candidates), MaxChoices) {
		at := d.Candidates[r.source.IntN(len(d.Candidates))]
		if !slices.Contains(d.Ranked, at) {
			d.Ranked = append(d.Ranked, at)
		}
	}
}
