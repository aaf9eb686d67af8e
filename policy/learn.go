// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/kvsteer/kvsteer/policy/load"

// Start counts r in at e, the endpoint it is sent to: f takes the tokens that
// d expects it to compute, the head's arrivals go on, and its conversation is
// e's where an algorithm of the pool keeps owners. On a retry, call it again
// with the endpoint that serves.
func (p *Pool) Start(f *load.Flight, e *load.Endpoint, d *Decision, r *Request, streamed bool) {
	uncached := d.Uncached
	if e != d.First() {
		uncached = r.Length - min(p.matchOf(e, r), r.Length)
	}
	f.Start(e, load.Claim{Tokens: int64(p.Tokens(uncached)), Streamed: streamed}, r.Now)
	if r.HeadKnown && r.Head > 0 {
		p.table.Arrive(r.HeadHash, r.Tag, r.Now)
	}
}

// Learn notes that e holds the prompt of r, whose body has ended, and output
// bytes of its answer. Blocks are touched last to first, so that heads outlive
// tails as they do in the engine.
func (p *Pool) Learn(e *load.Endpoint, r *Request, output int) {
	if e.Index == load.None || !e.Listed() || len(r.Hashes) == 0 {
		return
	}
	p.table.Learn(e.Index, r.chain(), uint32(max(output, 0)), r.Now)
}

// matchOf is the bytes of r that e alone is believed to hold.
func (p *Pool) matchOf(e *load.Endpoint, r *Request) int {
	if e.Index == load.None {
		return 0
	}
	clear(p.asked)
	p.asked[e.Index>>6] |= 1 << (e.Index & 63)
	p.table.Match(p.match, r.chain(), p.asked)
	return p.matched(r, e.Index)
}

// Usage is what an answer tells of its prompt.
type Usage struct {
	PromptTokens int // 0 = not told
	CachedTokens int // tokens that came from the cache
	CachedKnown  bool
}

// Observe learns from the usage that e reported for r, which d had sent there:
// bytes per token, how much a primary holds that no placement told of, and
// which placements the engine has lost. A long answer's r must still have its
// hashes; without them only the first two are learnt.
func (p *Pool) Observe(e *load.Endpoint, d *Decision, r *Request, u Usage) {
	if u.PromptTokens <= 0 || r.Length <= 0 {
		return
	}
	p.ratio.Observe(float64(r.Length) / float64(u.PromptTokens))
	if !u.CachedKnown {
		return
	}
	cached := int(float64(r.Length) * min(float64(u.CachedTokens)/float64(u.PromptTokens), 1))
	if e == d.First() && d.Prior > d.Match {
		p.prior.observe(float64(cached) / float64(d.Prior))
	}
	p.shrink(e, d, r, cached)
}

// shrink drops the placements of r on e beyond what the engine had cached.
// Engines cache whole blocks of their own, so one block of ours may be cut off.
func (p *Pool) shrink(e *load.Endpoint, d *Decision, r *Request, cached int) {
	if e.Index == load.None || e != d.First() || cached+engineBlockBytes >= d.Match {
		return
	}
	keep := 0
	for keep < len(r.Ends) && int(r.Ends[keep])+r.TagBytes <= cached {
		keep++
	}
	if keep < len(r.Hashes) {
		p.table.Shrink(e.Index, r.chain(), keep)
	}
}

// engineBlockBytes is the most that an engine's block rounds off: 512 tokens
// of 4 bytes.
const engineBlockBytes = 2048
