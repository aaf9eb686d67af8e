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
	// Overload is how many times the pool's mean wait (and at least
	// OverloadSeconds) an owner may have before the conversation moves.
	Overload        float64
	OverloadSeconds float64
}

// DefaultTopology has the default parameters.
func DefaultTopology() Topology { return Topology{Overload: 4, OverloadSeconds: 2} }

// Name implements Definition.
func (Topology) Name() string { return "topology" }

// Need implements Definition.
func (Topology) Need() Need { return NeedKey }

// New implements Definition.
func (t Topology) New(uint64) Instance { return t }

// Rank implements Instance.
func (t Topology) Rank(d *Draw) {
	p, r := d.pool, d.Request
	p.subset = p.subset[:0]
	total := 0.0
	for i, at := range d.Candidates {
		wait := p.view.Quotes()[at].Wait
		p.high[i] = wait
		total += wait
		n := p.nodes[at]
		n.Weight = hrw.Weight(weight(d.Endpoint(at)) / (1 + wait))
		p.subset = append(p.subset, n)
	}
	limit := max(t.Overload*total/float64(len(d.Candidates)), t.OverloadSeconds)
	owner := t.owner(d, limit)
	if owner >= 0 {
		d.Ranked = append(d.Ranked, owner)
	}
	p.ranks = hrw.Rank(p.ranks[:0], r.Key, p.subset, MaxEndpoints)
	for _, i := range p.ranks {
		if at := d.Candidates[i]; at != owner && len(d.Ranked) < MaxEndpoints {
			d.Ranked = append(d.Ranked, at)
		}
	}
	p.assign(d.Endpoint(d.Ranked[0]), r)
}

// owner is the position of the conversation's owner, if it may keep it; else −1.
func (t Topology) owner(d *Draw, limit float64) int {
	if !d.Request.KeyKnown {
		return -1
	}
	index, ok := d.pool.table.Owner(d.Request.Key)
	if !ok {
		return -1
	}
	for i, at := range d.Candidates {
		if d.Endpoint(at).Index == index && d.pool.high[i] <= limit {
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
