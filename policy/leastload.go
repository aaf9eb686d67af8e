// SPDX-License-Identifier: Apache-2.0

package policy

// LeastLoad takes the endpoint that would start on the request first: the
// shortest queue by its speed, penalties included; ties go to fewer running
// requests, then by rendezvous rank of the conversation.
type LeastLoad struct{}

// Name implements Definition.
func (LeastLoad) Name() string { return "least-load" }

// Need implements Definition.
func (LeastLoad) Need() Need { return NeedNothing }

// New implements Definition.
func (l LeastLoad) New(uint64) Instance { return l }

// Rank implements Instance.
func (LeastLoad) Rank(d *Draw) {
	p := d.pool
	for i, at := range d.Candidates {
		e := d.Endpoint(at)
		wait := e.Queue()*e.Pace()*p.distance(e) + e.Penalty(d.Request.Now)
		p.costs[i].high = wait
	}
	p.rankByCost(d, d.Request.Key, band{})
}
