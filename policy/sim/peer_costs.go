// SPDX-License-Identifier: Apache-2.0

package sim

// dynamo takes the lowest prefill + decode load in blocks (ai-dynamo/dynamo,
// lib/kv-router, defaults: overlap credit 1, prefill load scale 1, temperature
// 0): active prefill tokens and the request's uncached ones, and the blocks
// that running requests hold.
type dynamo struct {
	g      *Gateway
	tables beliefs
	decode bool
}

func newDynamo(g *Gateway) Policy {
	return &dynamo{g: g, tables: newBeliefs(g, g.Model.CacheBlocks), decode: true}
}

// newDynamoPrefill leaves the decode load out.
func newDynamoPrefill(g *Gateway) Policy {
	return &dynamo{g: g, tables: newBeliefs(g, g.Model.CacheBlocks)}
}

// Pick implements Policy.
func (p *dynamo) Pick(r *Request, _ float64) (int, float64) {
	e := p.g.least(func(e int, l *Load) float64 {
		prefill := (l.Queue + p.tables.uncached(e, r)) / BlockTokens
		if !p.decode {
			return prefill
		}
		return prefill + l.Blocks
	})
	return p.tables.send(e, r)
}

// lmetric takes the lowest uncached tokens × (requests + 1) (LMetric,
// arXiv 2603.15202: prefill tokens to come times batch size).
type lmetric struct {
	g      *Gateway
	tables beliefs
}

func newLMetric(g *Gateway) Policy {
	return &lmetric{g: g, tables: newBeliefs(g, g.Model.CacheBlocks)}
}

// Pick implements Policy.
func (p *lmetric) Pick(r *Request, _ float64) (int, float64) {
	e := p.g.least(func(e int, l *Load) float64 {
		return max(p.tables.uncached(e, r), float64(p.g.Model.MinCompute)) * (l.Requests + 1)
	})
	return p.tables.send(e, r)
}

// prefixTrie is production-stack's prefixaware (vllm-project/production-stack
// a6c01db0, src/vllm_router/routers/routing_logic.py): any of the engines at
// the deepest matching node, at random; load is not looked at, nothing is
// evicted, and no match matches everybody.
type prefixTrie struct {
	g    *Gateway
	trie beliefs
}

func newPrefixTrie(g *Gateway) Policy { return &prefixTrie{g: g, trie: newBeliefs(g, 0)} }

// Pick implements Policy.
func (p *prefixTrie) Pick(r *Request, _ float64) (int, float64) {
	e := p.g.least(func(e int, _ *Load) float64 { return p.trie.uncached(e, r) })
	return p.trie.send(e, r)
}
