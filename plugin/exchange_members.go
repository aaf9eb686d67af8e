// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// members are the endpoints of the VM's pools by the names they have among VMs.
type members struct {
	list    []member
	places  map[uint64]int // in list, by name
	indexed []uint64       // names by table index
	current bool           // built since the endpoints last changed
}

// member is one endpoint of one pool.
type member struct {
	*load.Endpoint
	pool   *pool
	name   uint64
	others load.Share // what other VMs have in flight there
	shown  load.Share // … as last given to the endpoint
}

// identity is what the VMs that share what they know of a pool must agree on:
// its cluster, and how prompts become hashes.
func (p *pool) identity() uint64 {
	b := append([]byte(prefix.Version), p.cluster...)
	b = binary.LittleEndian.AppendUint64(b, p.prompt.seed)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.prompt.maxBytes))
	return xxhash.Sum64(append(b, flagOf(p.prompt.billing)))
}

// refresh builds the list anew where endpoints have changed.
func (m *members) refresh(v *vm) {
	if m.current {
		return
	}
	m.current = true
	m.list, m.places = m.list[:0], map[uint64]int{}
	clear(m.indexed)
	for _, p := range v.pools {
		seed := p.identity()
		for _, e := range p.View().Endpoints() {
			m.list = append(m.list, member{Endpoint: e, pool: p, name: endpointName(seed, e.ID)})
		}
	}
	// In an order that doesn't change by itself, so that equal heads are equal.
	slices.SortFunc(m.list, func(a, b member) int {
		if c := strings.Compare(a.pool.cluster, b.pool.cluster); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for i, e := range m.list {
		m.places[e.name] = i
		if e.Index != load.None {
			for len(m.indexed) <= e.Index {
				m.indexed = append(m.indexed, 0)
			}
			m.indexed[e.Index] = e.name
		}
	}
}

// endpointName is never 0.
func endpointName(pool uint64, id string) uint64 {
	d := xxhash.NewWithSeed(pool)
	d.WriteString(id)
	return d.Sum64() | 1
}

// find is the member with this name, nil if there is none here.
func (m *members) find(name uint64) *member {
	if i, ok := m.places[name]; ok {
		return &m.list[i]
	}
	return nil
}

// name is the name of the endpoint at a table index; 0 for none.
func (m *members) name(index int) uint64 {
	if index < 0 || index >= len(m.indexed) {
		return 0
	}
	return m.indexed[index]
}

func (m *members) forgetOthers() {
	for i := range m.list {
		m.list[i].others = load.Share{}
	}
}

func (m *members) addOthers(name uint64, s load.Share) {
	if e := m.find(name); e != nil {
		e.others.Queued += s.Queued
		e.others.InFlight += s.InFlight
	}
}

func (m *members) publishOthers() {
	for i := range m.list {
		if e := &m.list[i]; e.others != e.shown {
			e.shown = e.others
			e.SetOthers(e.others)
		}
	}
}
