// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// bytesPerToken is canonical bytes of a token in a trace.
const bytesPerToken = 4

// blockBytes is canonical bytes of a trace's block.
const blockBytes = BlockTokens * bytesPerToken

// Terms of the cost that Options.Off may name, and how each is switched off.
var Terms = map[string]func(*policy.PrefixAware){
	"price":    func(a *policy.PrefixAware) { a.Price, a.Several = 1, 1 },
	"evict":    func(a *policy.PrefixAware) { a.Evict = 0 },
	"discount": func(a *policy.PrefixAware) { a.HeadDiscount = 0 },
	"head-key": func(a *policy.PrefixAware) { a.HeadReuse = 0 },
	"prior":    func(a *policy.PrefixAware) { a.IgnorePrior = true },
	"rank":     func(a *policy.PrefixAware) { a.RankShare = 0 },
	"tie":      func(a *policy.PrefixAware) { a.TieSeconds, a.TieShare = 0, 0 },
}

// steered is one of the project's own algorithms, as it runs in Envoy.
type steered struct {
	g        *Gateway
	pool     *policy.Pool
	request  policy.Request
	decision policy.Decision
	down     []bool
	sent     map[*Request]policy.Decision // until their ends

	endpoints []*load.Endpoint // the pool's, by engine; they keep their addresses
	reader    reader
}

// newSteered makes a policy of an algorithm, nil for more engines than a table
// can tell apart. Terms that are switched off are those of prefix-aware.
func newSteered(g *Gateway, d policy.Definition) Policy {
	if a, ok := d.(policy.PrefixAware); ok {
		for _, term := range g.Options.Off {
			Terms[term](&a)
		}
		d = a
	}
	blocks := max(g.Model.CacheBlocks, 1) * len(g.Loads)
	t, err := table.New(table.Config{Endpoints: len(g.Loads), Slots: min(2*blocks, 1<<24), Nodes: min(2*blocks, 1<<24)})
	if err != nil {
		return nil
	}
	p := &steered{g: g, down: make([]bool, len(g.Loads)), sent: map[*Request]policy.Decision{}}
	p.reader.config.Seed = g.HashSeed
	p.pool = policy.NewPool(policy.Settings{
		Gateways: g.Count, BytesPerToken: bytesPerToken, Seed: g.Random.Uint64(),
	}, d, t)
	p.list()
	return p
}

// View implements viewer.
func (p *steered) View() *load.View { return p.pool.View() }

// list tells the pool of the engines.
func (p *steered) list() {
	var specs []load.Spec
	for e := range p.g.Loads {
		p.down[e] = p.g.Loads[e].Down
		s := load.Spec{
			ID: engineName(e), Healthy: !p.down[e],
			Capacity: uint64(p.g.Model.CacheBlocks) * blockBytes,
		}
		if p.g.Options.KnowSpeeds {
			s.Rate = p.g.Model.Prefill * p.g.fleet[e].pace
		}
		specs = append(specs, s)
	}
	p.pool.SetEndpoints(specs)
	p.endpoints = p.endpoints[:0]
	for e := range p.g.Loads {
		p.endpoints = append(p.endpoints, p.pool.View().Find(engineName(e)))
	}
}

// Pick implements Policy.
func (p *steered) Pick(r *Request, now float64) (int, float64) {
	p.sync(clock(now))
	p.decision = p.decide(r, now)
	e := p.decision.First()
	p.sent[r] = p.decision
	if !p.g.metrics {
		var f load.Flight // the exact view has its own account of what is in flight
		p.pool.Start(&f, e, &p.decision, &p.request, true)
		f.End()
	}
	p.pool.Learn(e, &p.request, 0)
	return slices.Index(p.endpoints, e), p.pool.Tokens(p.decision.Uncached)
}

// decide picks for r: from its body as it comes, where there is one.
func (p *steered) decide(r *Request, now float64) policy.Decision {
	if r.Body == nil {
		p.describe(r, now)
		return p.pool.Pick(nil, &p.request)
	}
	return p.reader.read(p, r, clock(now))
}

// End implements ender: the answer tells how much of the prompt was cached.
func (p *steered) End(j *job, now float64) {
	if p.g.Options.NoUsage {
		return
	}
	d, ok := p.sent[j.r]
	if !ok {
		return
	}
	delete(p.sent, j.r)
	if j.r.Body != nil {
		p.request = policy.Request{Length: j.r.Input * bytesPerToken}
	} else {
		p.describe(j.r, now)
	}
	p.pool.Observe(d.First(), &d, &p.request, policy.Usage{
		PromptTokens: j.r.Input, CachedTokens: j.cached, CachedKnown: true,
	})
}

// Send implements sender.
func (p *steered) Send(j *job) {
	p.pool.Start(&j.flight, p.decision.First(), &p.decision, &p.request, true)
}

// sync brings health and, in the exact view, the queues into the pool.
func (p *steered) sync(now time.Duration) {
	for e := range p.g.Loads {
		if p.g.Loads[e].Down != p.down[e] {
			if p.g.Loads[e].Down {
				p.pool.Restarted(p.endpoints[e])
			}
			p.list()
		}
	}
	if p.g.metrics {
		return
	}
	for e := range p.g.Loads {
		l := &p.g.Loads[e]
		others := load.Share{Queued: l.Queue}
		if p.g.Options.CountDecode {
			others.InFlight = l.Requests
		}
		p.endpoints[e].SetOthers(others)
	}
}

// describe puts r into the pool's form.
func (p *steered) describe(r *Request, now float64) {
	q := &p.request
	*q = policy.Request{Now: clock(now), Hashes: q.Hashes[:0], Ends: q.Ends[:0]}
	for k, b := range r.Blocks {
		q.Hashes = append(q.Hashes, p.g.blockHash(b))
		q.Ends = append(q.Ends, uint32((k+1)*blockBytes))
	}
	q.Length = r.Input * bytesPerToken
	q.TagKnown, q.LengthKnown, q.Complete = true, true, true
	q.HeadKnown, q.KeyKnown = true, true
	q.Key = p.g.keyHash(r)
	q.Prev = min(r.Prev*blockBytes, q.Length)
	if r.Head > 0 {
		q.Head = min(r.Head*blockBytes, q.Length)
		q.HeadHash = p.g.blockHash(r.Blocks[r.Head-1])
	}
}

// clock is virtual time as the pool counts it: from one second on, since zero
// means never.
func clock(seconds float64) time.Duration {
	return time.Second + time.Duration(seconds*float64(time.Second))
}
