// SPDX-License-Identifier: Apache-2.0

package policy

// LeastLoad takes the endpoint that would start on the request first: the
// shortest queue by its pace, penalties included; ties go by rendezvous rank of
// the conversation.
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
	quotes := p.view.Quotes()
	for i, at := range d.Candidates {
		p.high[i] = quotes[at].Wait
	}
	p.rankByCost(d, d.Request.Key, band{}, nil)
}
