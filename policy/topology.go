// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// Topology keeps a conversation on one endpoint: its conversation key has a
// single owner in the table. Where there is none, or the owner is gone or
// overloaded, rendezvous hashing with weights by load (re)assigns it; load
// plays no part otherwise.
type Topology struct {
	// An owner is overloaded if its wait is above Overload times the mean wait of
	// the others, and above OverloadSeconds.
	Overload        float64
	OverloadSeconds float64
}

// DefaultTopology has the default parameters.
func DefaultTopology() Topology { return Topology{Overload: 4, OverloadSeconds: 4} }

// Name implements Definition.
func (Topology) Name() string { return "topology" }

// Need implements Definition.
func (Topology) Need() Need { return NeedKey }

// New implements Definition.
func (t Topology) New(uint64) Instance { return t }

// Rank implements Instance. An owner that is overloaded comes last.
func (t Topology) Rank(d *Draw) {
	p, r := d.pool, d.Request
	quotes := p.view.Quotes()
	p.subset = p.subset[:0]
	total := 0.0
	owner := t.owner(d)
	for _, at := range d.Candidates {
		total += quotes[at].Wait
		n := p.nodes[at]
		n.Weight = hrw.Weight(weight(d.Endpoint(at)) / (1 + quotes[at].Wait))
		p.subset = append(p.subset, n)
	}
	overloaded := owner >= 0 && t.overloaded(quotes[owner].Wait, total, len(d.Candidates))
	if owner >= 0 && !overloaded {
		d.Ranked = append(d.Ranked, owner)
	}
	p.ranks = hrw.Rank(p.ranks[:0], r.Key, p.subset, MaxChoices+1)
	for _, i := range p.ranks {
		if at := d.Candidates[i]; at != owner && len(d.Ranked) < MaxChoices {
			d.Ranked = append(d.Ranked, at)
		}
	}
	if overloaded && len(d.Ranked) < MaxChoices {
		d.Ranked = append(d.Ranked, owner)
	}
	p.assign(d.Endpoint(d.Ranked[0]), r)
}

// overloaded reports whether an owner with this wait gives its conversation
// away, where all n candidates wait total seconds together.
func (t Topology) overloaded(wait, total float64, n int) bool {
	if n == 1 {
		return false
	}
	others := (total - wait) / float64(n-1)
	return wait > max(t.Overload*others, t.OverloadSeconds)
}

// owner is the position of the candidate that owns the conversation, else −1.
func (Topology) owner(d *Draw) int {
	if !d.Request.KeyKnown {
		return -1
	}
	index, ok := d.pool.table.Owner(d.Request.Key)
	if !ok {
		return -1
	}
	for _, at := range d.Candidates {
		if d.Endpoint(at).Index == index {
			return at
		}
	}
	return -1
}

// assign makes e the owner of r's conversation.
func (p *Pool) assign(e *load.Endpoint, r *Request) {
	if r.KeyKnown && e.Index != load.None {
		p.table.Assign(r.Key, e.Index, r.Now)
	}
}
