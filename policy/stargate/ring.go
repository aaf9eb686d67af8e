// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// point is a virtual node of the endpoint at a position.
type point struct {
	hash     uint64
	position int32
}

// byHash sorts points by hash, then position.
type byHash []point

func (p byHash) Len() int      { return len(p) }
func (p byHash) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p byHash) Less(i, j int) bool {
	if p[i].hash != p[j].hash {
		return p[i].hash < p[j].hash
	}
	return p[i].position < p[j].position
}

// ring is the consistent-hash ring of a target and definition over one list of
// endpoints. It only saves time: Picker.nearest walks in the same order.
type ring struct {
	owner        *Instance
	ids          []string
	points       []point // by hash, then position
	used         time.Duration
	older, newer *ring
}

// matches reports whether the ring was built for these endpoints.
func (g *ring) matches(endpoints []Endpoint) bool {
	if len(g.ids) != len(endpoints) {
		return false
	}
	for i := range endpoints {
		if g.ids[i] != endpoints[i].ID {
			return false
		}
	}
	return true
}

// pointBytes is what a point takes.
const pointBytes = 16

// bytes returns what the ring's points take. The rest is small beside them: 16
// bytes for each endpoint.
func (g *ring) bytes() int { return pointBytes * len(g.points) }

// walk appends the positions of the first count endpoints clockwise from key
// that skip does not hold, each once. It marks them in skip.
func (g *ring) walk(dst []int32, key uint64, count int, skip []bool) []int32 {
	from, _ := slices.BinarySearchFunc(g.points, key, func(p point, key uint64) int { return cmp.Compare(p.hash, key) })
	for i := range g.points {
		if len(dst) == count {
			break
		}
		at := from + i
		if at >= len(g.points) {
			at -= len(g.points)
		}
		if p := g.points[at].position; !skip[p] {
			skip[p] = true
			dst = append(dst, p)
		}
	}
	return dst
}

// rings bounds the memory of all rings of a VM. A ring that does not fit pushes
// out those that nobody used for a while, and is not kept if that isn't enough.
//
// Invariant: bytes is the sum over the rings in the list, each the ring of its
// owner; root.newer is the one unused longest.
type rings struct {
	limit int
	bytes int
	root  ring
}

// ringRest is how long a ring must have been unused to make room: below it
// targets would push out each other's rings in turn, and building one costs
// more than doing without.
const ringRest = 10 * time.Second

// use marks g as used.
func (s *rings) use(g *ring, now time.Duration) {
	g.used = now
	g.older.newer, g.newer.older = g.newer, g.older
	s.push(g)
}

func (s *rings) push(g *ring) {
	if s.root.newer == nil {
		s.root.older, s.root.newer = &s.root, &s.root
	}
	g.older, g.newer = s.root.older, &s.root
	g.older.newer, g.newer.older = g, g
}

// drop forgets the ring of its owner.
func (s *rings) drop(g *ring) {
	g.older.newer, g.newer.older = g.newer, g.older
	s.bytes -= g.bytes()
	g.owner.ring = nil
}

// room makes room for a ring of so many bytes if it can.
func (s *rings) room(bytes int, now time.Duration) bool {
	if bytes > s.limit {
		return false
	}
	for s.bytes+bytes > s.limit {
		oldest := s.root.newer
		if now-oldest.used < ringRest {
			return false
		}
		s.drop(oldest)
	}
	return true
}

// build makes and keeps the ring of owner. f has the target's fields.
func (s *rings) build(f fields, owner *Instance, endpoints []Endpoint, virtual int, now time.Duration) fields {
	if owner.ring != nil {
		s.drop(owner.ring)
	}
	g := &ring{owner: owner, ids: make([]string, len(endpoints)), points: make([]point, 0, virtual*len(endpoints)), used: now}
	prefix := len(f)
	for i := range endpoints {
		g.ids[i] = endpoints[i].ID
		f = f[:prefix].add(tagEndpoint, endpoints[i].ID).addNode(0)
		for n := range virtual {
			f.setNode(uint64(n))
			g.points = append(g.points, point{f.sum(), int32(i)})
		}
	}
	sort.Sort(byHash(g.points))
	owner.ring = g
	s.bytes += g.bytes()
	s.push(g)
	return f
}
