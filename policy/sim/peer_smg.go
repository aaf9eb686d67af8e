// SPDX-License-Identifier: Apache-2.0

package sim

// SMG's cache_aware with the defaults of its command line (smg-project/smg
// f8daa8835, model_gateway/src/policies/cache_aware.rs): where loads differ by
// more than 64 requests and by more than half, the shortest queue; else the
// worker that matches more than 0.3 of the prompt; else the least loaded. The
// tree's bound of 67 million characters is never reached by these traces.
type smg struct {
	g       *Gateway
	tree    beliefs
	touched map[int]int // by block: the worker that used it last
}

const (
	smgThreshold = 0.3
	smgAbsolute  = 64
	smgRelative  = 1.5
)

func newSMG(g *Gateway) Policy {
	return &smg{g: g, tree: newBeliefs(g, 0), touched: map[int]int{}}
}

// Pick implements Policy.
func (p *smg) Pick(r *Request, _ float64) (int, float64) {
	least, lowest, highest := -1, 0.0, 0.0
	p.g.up(func(e int, l *Load) {
		if least < 0 || l.Requests < lowest {
			least, lowest = e, l.Requests
		}
		highest = max(highest, l.Requests)
	})
	e := least
	balanced := highest-lowest <= smgAbsolute || highest <= smgRelative*lowest
	if owner, depth := p.match(r); balanced && float64(depth) > smgThreshold*float64(len(r.Blocks)) {
		e = owner
	}
	p.touch(r.Blocks, e)
	return p.tree.send(e, r)
}

// touch makes worker e the last user of the blocks' nodes.
func (p *smg) touch(blocks []int, e int) {
	for _, b := range blocks {
		p.touched[b] = e
	}
}

// match is the worker at the deepest matching node of the tree and its depth.
// A node that several workers share answers with the one that used it last.
func (p *smg) match(r *Request) (owner, depth int) {
	for k, b := range r.Blocks {
		e, ok := p.touched[b]
		if !ok || p.g.Loads[e].Down {
			break
		}
		owner, depth = e, k+1
	}
	return owner, depth
}
