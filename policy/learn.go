// SPDX-License-Identifier: Apache-2.0

package policy

import "github.com/kvsteer/kvsteer/policy/load"

// Start counts r in at e, the endpoint it is sent to: f claims the tokens that e
// is expected to compute, and r counts as an arrival of its head.
func (p *Pool) Start(f *load.Flight, e *load.Endpoint, d *Decision, r *Request, streamed bool) {
	uncached := d.Uncached
	if e != d.First() {
		uncached = r.Length - min(p.matchOf(e, r), r.Length)
	}
	f.Start(e, load.Claim{Tokens: int64(p.Tokens(uncached)), Streamed: streamed}, r.Now)
	p.heads.arrive(r.headKey(), r.Now)
}

// Correct makes f claim what its endpoint has to compute of r, which was sent
// there before its body was known. Call it before Learn.
func (p *Pool) Correct(f *load.Flight, r *Request) {
	if e := f.Endpoint(); e != nil {
		f.Correct(int64(p.Tokens(r.Length - min(p.matchOf(e, r), r.Length))))
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
// bytes per token, and how much a primary holds that no placement told of.
//
// Placements stay as they are, also where the engine had lost them: it has
// computed the prompt since, and holds it again. (Dropping them made first
// tokens up to a third later; see RATIONALE.md.) An engine that restarts is
// Pool.Restarted's.
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
}
