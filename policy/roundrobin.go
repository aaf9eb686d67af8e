// SPDX-License-Identifier: Apache-2.0

package policy

// RoundRobin takes the endpoints in turn, in the order of their IDs.
type RoundRobin struct{}

type roundRobin struct {
	RoundRobin
	turn uint64
}

// Name implements Definition.
func (RoundRobin) Name() string { return "round-robin" }

// Need implements Definition.
func (RoundRobin) Need() Need { return NeedNothing }

// New implements Definition.
func (RoundRobin) New(uint64) Instance { return &roundRobin{} }

// Rank implements Instance. One pick is one step, whatever the list's length.
func (r *roundRobin) Rank(d *Draw) {
	n := len(d.Candidates)
	at := int(r.turn % uint64(n))
	r.turn++
	for k := 0; k < min(n, MaxChoices); k++ {
		d.Ranked = append(d.Ranked, d.Candidates[(at+k)%n])
	}
}
