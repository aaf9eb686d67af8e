// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/kvsteer/kvsteer/policy/hrw"
)

// ringPolicy is KubeAI's PrefixHash (substratusai/kubeai 2f32ef4,
// internal/loadbalancer/balance_chwbl.go): consistent hashing with bounded
// loads on a ring with 256 points an engine; from the key's point on the first
// engine whose requests are at most 1.25 times the mean.
type ringPolicy struct {
	g    *Gateway
	ring []point
}

type point struct {
	hash   uint64
	engine int
}

const (
	ringPoints = 256
	loadFactor = 1.25
)

func newRing(g *Gateway) Policy {
	p := &ringPolicy{g: g}
	for e := range g.Loads {
		for v := range ringPoints {
			h := xxhash.Sum64String(engineName(e) + strconv.Itoa(v))
			p.ring = append(p.ring, point{h, e})
		}
	}
	slices.SortFunc(p.ring, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return p
}

// Pick implements Policy.
func (p *ringPolicy) Pick(r *Request, _ float64) (int, float64) {
	key := p.g.keyHash(r)
	at, _ := slices.BinarySearchFunc(p.ring, key, func(x point, k uint64) int { return cmp.Compare(x.hash, k) })
	bound := p.g.bound()
	for k := range p.ring {
		e := p.ring[(at+k)%len(p.ring)].engine
		if l := &p.g.Loads[e]; !l.Down && l.Requests <= bound {
			return e, float64(r.Input)
		}
	}
	return p.g.least(func(_ int, l *Load) float64 { return l.Requests }), float64(r.Input)
}

// bound is the most requests an engine may have: 1.25 times the mean with this one.
func (g *Gateway) bound() float64 {
	total, n := 1.0, 0
	g.up(func(_ int, l *Load) { total += l.Requests; n++ })
	return total / float64(n) * loadFactor
}

// boundedHash is rendezvous hashing of the conversation key with the same bound.
type boundedHash struct {
	g     *Gateway
	nodes []hrw.Node
}

func newBoundedHash(g *Gateway) Policy {
	p := &boundedHash{g: g}
	for e := range g.Loads {
		p.nodes = append(p.nodes, hrw.Node{Seed: hrw.Seed(engineName(e)), Weight: hrw.Weight(1)})
	}
	return p
}

// Pick implements Policy.
func (p *boundedHash) Pick(r *Request, _ float64) (int, float64) {
	bound := p.g.bound()
	for _, e := range hrw.Rank(nil, p.g.keyHash(r), p.nodes, len(p.nodes)) {
		if l := &p.g.Loads[e]; !l.Down && l.Requests <= bound {
			return int(e), float64(r.Input)
		}
	}
	return p.g.least(func(_ int, l *Load) float64 { return l.Requests }), float64(r.Input)
}

// engineName is an engine's address.
func engineName(e int) string { return "10.0.0." + strconv.Itoa(e) + ":8000" }

// keyHash is the conversation key of r.
func (g *Gateway) keyHash(r *Request) uint64 { return g.blockHash(r.Key) }

// blockHash is a hash of a trace's block number. How evenly hashing splits the
// keys among the engines is luck, so each run draws anew.
func (g *Gateway) blockHash(block int) uint64 {
	z := uint64(block)*0x9e3779b97f4a7c15 + (g.HashSeed+1)*0xd6e8feb86659fd93
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
