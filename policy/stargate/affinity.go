// SPDX-License-Identifier: Apache-2.0

package stargate

// affinity returns the positions of the endpoints that the request's affinity
// key prefers, at most d.selection of those not excluded; none without a key.
func (p *Picker) affinity() []int32 {
	p.subset = p.subset[:0]
	if p.r.AffinityKey == "" || p.d.selection == 0 {
		return p.subset
	}
	count := int(min(p.d.selection, uint64(len(p.endpoints))))
	for _, position := range p.clockwise {
		if !p.excluded[position] && len(p.subset) < count {
			p.subset = append(p.subset, position)
		}
	}
	return p.subset
}

// walk notes the eligible endpoints clockwise from the affinity key, as many as
// the choices of this pick can need.
func (p *Picker) walk() {
	p.clockwise = p.clockwise[:0]
	if p.r.AffinityKey == "" || p.d.selection == 0 || len(p.endpoints) == 0 {
		return
	}
	count := int(min(p.d.selection, uint64(len(p.endpoints)))) + p.query.Want - 1
	p.fields = p.fields.start(p.d, p.r)
	prefix := len(p.fields)
	p.fields = p.fields.add(tagAffinityKey, p.r.AffinityKey)
	key := p.fields.sum()
	p.fields = p.fields[:prefix]
	virtual := p.virtualNodes()
	if g := p.ringOf(virtual); g != nil {
		p.skip = append(p.skip[:0], p.excluded...)
		p.clockwise = g.walk(p.clockwise, key, count, p.skip)
		return
	}
	p.clockwise = p.nearest(p.clockwise, key, count, virtual)
}

// virtualNodes returns how many points each endpoint has: fewer than the
// definition says where the endpoints are too many for that.
func (p *Picker) virtualNodes() int {
	most := max(p.maxRingPoints/len(p.endpoints), 1)
	return int(min(p.d.virtual, uint64(most)))
}

// ringOf returns the ring of the instance, nil if there is no room for it.
func (p *Picker) ringOf(virtual int) *ring {
	if g := p.query.Instance.ring; g != nil {
		if g.matches(p.endpoints) {
			p.rings.use(g, p.r.Now)
			return g
		}
		p.rings.drop(g)
	}
	if !p.rings.room(pointBytes*virtual*len(p.endpoints), p.r.Now) {
		return nil
	}
	if p.reduced != nil && uint64(virtual) < p.d.virtual {
		p.reduced(virtual)
	}
	p.fields = p.rings.build(p.fields, p.query.Instance, p.endpoints, virtual, p.r.Now)
	return p.query.Instance.ring
}

// nearest finds the same endpoints without a ring: those whose nearest point
// clockwise from key is the nearest. Cost: a hash per point.
func (p *Picker) nearest(dst []int32, key uint64, count, virtual int) []int32 {
	prefix := len(p.fields)
	p.distances = append(p.distances[:0], make([]uint64, len(p.endpoints))...)
	for i := range p.endpoints {
		if p.excluded[i] {
			continue
		}
		p.fields = p.fields[:prefix].add(tagEndpoint, p.endpoints[i].ID).addNode(0)
		distance := ^uint64(0)
		for n := range virtual {
			p.fields.setNode(uint64(n))
			distance = min(distance, p.fields.sum()-key)
		}
		p.distances[i] = distance
		dst = append(dst, int32(i))
	}
	p.sorted(dst, p.distances)
	return dst[:min(count, len(dst))]
}
