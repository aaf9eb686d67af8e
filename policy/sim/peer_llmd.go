// SPDX-License-Identifier: Apache-2.0

package sim

// llm-d's default profile (llm-d/llm-d-router ebab68792,
// pkg/epp/config/loader/defaults.go): 2 · queue + 2 · KV use + 3 · prefix, each
// scored in [0, 1]; the highest sum wins, ties at random. Its table is of
// 31,250 blocks of 64 tokens an endpoint, which these traces don't fill.
type llmd struct {
	g       *Gateway
	tables  beliefs
	kvScore float64
}

const (
	llmdQueue  = 2
	llmdKV     = 2
	llmdPrefix = 3
	llmdBlocks = 31250 * 64 / BlockTokens
)

func newLLMD(g *Gateway) Policy {
	return &llmd{g: g, tables: newBeliefs(g, llmdBlocks), kvScore: llmdKV}
}

// newLLMDWithoutKV leaves the KV-use score out, which these engines hardly move.
func newLLMDWithoutKV(g *Gateway) Policy {
	return &llmd{g: g, tables: newBeliefs(g, llmdBlocks)}
}

// Pick implements Policy.
func (p *llmd) Pick(r *Request, _ float64) (int, float64) {
	low, high := 0.0, 0.0
	first := true
	p.g.up(func(_ int, l *Load) {
		if first {
			low, high, first = l.Waiting, l.Waiting, false
		}
		low, high = min(low, l.Waiting), max(high, l.Waiting)
	})
	e := p.g.least(func(e int, l *Load) float64 {
		queue := 1.0
		if high > low {
			queue = (high - l.Waiting) / (high - low)
		}
		return -(llmdQueue*queue + p.kvScore*(1-l.KVUse) + llmdPrefix*p.tables.share(e, r))
	})
	return p.tables.send(e, r)
}

// sticky is llm-d's "sticky until saturated" (its blog of 2026-08-17): keep the
// endpoints that hold at least 0.8 of the prompt unless the best of them would
// answer more than 14 s later than the best of all; then the fewest uncached
// tokens in flight and to come.
type sticky struct {
	g      *Gateway
	tables beliefs
}

const (
	stickyShare   = 0.8
	stickySeconds = 14.0
)

func newSticky(g *Gateway) Policy {
	return &sticky{g: g, tables: newBeliefs(g, g.Model.CacheBlocks)}
}

// Pick implements Policy.
func (p *sticky) Pick(r *Request, _ float64) (int, float64) {
	cost := func(e int, l *Load) float64 { return l.Queue + p.tables.uncached(e, r) }
	warm := func(e int) bool { return p.tables.share(e, r) >= stickyShare }
	bestWarm, best := -1.0, -1.0
	p.g.up(func(e int, l *Load) {
		if best < 0 || l.Queue < best {
			best = l.Queue
		}
		if warm(e) && (bestWarm < 0 || l.Queue < bestWarm) {
			bestWarm = l.Queue
		}
	})
	stick := bestWarm >= 0 && bestWarm-best <= stickySeconds*p.g.Model.Prefill
	e := p.g.least(func(e int, l *Load) float64 {
		if stick && !warm(e) {
			return farAway + cost(e, l)
		}
		return cost(e, l)
	})
	return p.tables.send(e, r)
}

// farAway is more than any cost in tokens.
const farAway = 1e15
