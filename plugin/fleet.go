// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/load/clusters"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

// fleet is what the collector knows of one pool: its engines, and what of them
// the workers have been told.
type fleet struct {
	poolConfig
	engines  []*engine     // sorted by address
	listed   []listing     // the list that is being read
	at       time.Duration // when the last whole list came; 0 = never
	blind    bool          // the last list is so old that health is not believed
	allOut   bool          // no engine is usable, so all are candidates
	changed  bool          // who is a candidate, since the last snapshot
	fresh    bool          // load, since the last snapshot
	sent     time.Duration // when that was
	sequence uint64
	entries  []snapshot.Entry // of the last snapshot
}

// engine is one host of a fleet.
type engine struct {
	listing
	id         []byte         // the address
	configured endpointConfig // what the configuration says of it; zero value: nothing
	gone       bool           // no longer listed, though a scrape may be under way
	stats      load.Stats
	restarts   uint32
	scraping
}

// listing is what the host list says of a host.
type listing struct {
	address string
	state   hostState
	rank    uint32 // hosts of the lowest rank that has usable ones are candidates
	weight  uint32
	far     bool
}

// hostState is whether Envoy would send requests to a host.
type hostState uint8

const (
	usable hostState = iota
	unusable
	draining // or gone from the list's source, and only kept until its requests end
)

// healthAge is the least time for which health is believed after the last list:
// as long as load is. Then every host is a candidate again, and what requests
// meet there decides.
const healthAge = 10 * time.Second

// list notes a host of the list that is being read.
func (f *fleet) list(h *clusters.Host, zone string) {
	state := usable
	switch {
	case h.Health&(clusters.Draining|clusters.PendingRemoval) != 0:
		state = draining
	case !h.Health.Usable():
		state = unusable
	}
	rank := 2 * h.Priority
	if h.Health&clusters.Degraded != 0 {
		rank++ // Envoy takes degraded hosts where the others of the priority don't suffice
	}
	f.listed = append(f.listed, listing{
		address: f.name(h.Address), state: state, rank: rank, weight: h.Weight,
		far: zone != "" && len(h.Zone) > 0 && string(h.Zone) != zone,
	})
}

// name is the address as a string, the known one where there is one.
func (f *fleet) name(address []byte) string {
	if i, ok := f.search(string(address)); ok {
		return f.engines[i].address
	}
	return string(address)
}

func (f *fleet) search(address string) (int, bool) {
	return slices.BinarySearchFunc(f.engines, address, func(e *engine, a string) int {
		return strings.Compare(e.address, a)
	})
}

// find is the engine with this address, nil if there is none.
func (f *fleet) find(address string) *engine {
	if i, ok := f.search(address); ok {
		return f.engines[i]
	}
	return nil
}

// commit makes the list that was read the fleet's engines.
func (f *fleet) commit(now time.Duration) {
	f.changed = f.changed || f.at == 0 || f.blind
	f.blind = false
	f.at = now
	next := make([]*engine, 0, len(f.listed))
	for _, l := range f.listed {
		e := f.find(l.address)
		if e == nil {
			e = f.newEngine(l)
			f.changed = true
		}
		f.changed = f.changed || e.listing != l
		e.listing = l
		next = append(next, e)
	}
	slices.SortStableFunc(next, func(a, b *engine) int { return strings.Compare(a.address, b.address) })
	next = slices.CompactFunc(next, func(a, b *engine) bool { return a.address == b.address })
	for _, e := range f.engines {
		e.gone = true
	}
	for _, e := range next {
		e.gone = false
	}
	f.changed = f.changed || len(next) != len(f.engines)
	f.engines, f.listed = next, f.listed[:0]
}

func (f *fleet) newEngine(l listing) *engine {
	e := &engine{listing: l, id: []byte(l.address), configured: endpointConfig{kvTokens: f.kvTokens}}
	for _, c := range f.endpoints {
		if c.address == l.address {
			e.configured = c
		}
	}
	e.phase = float64(xxhash.Sum64String(l.address)>>11) / (1 << 53)
	return e
}

// listConfigured makes the configured endpoints the list.
func (f *fleet) listConfigured(zone string, now time.Duration) {
	for _, c := range f.endpoints {
		f.listed = append(f.listed, listing{
			address: c.address, weight: 1,
			far: zone != "" && c.zone != "" && c.zone != zone,
		})
	}
	f.commit(now)
}

// resume takes what another collector has published, so that workers do not
// lose what they know when the lease moves. An engine that restarts before its
// first page here is not noticed.
func (f *fleet) resume(r *snapshot.Reader, taken time.Duration) {
	var e snapshot.Entry
	for r.Next(&e, taken) {
		l := listing{address: string(e.ID), weight: 1, far: e.Spec.Far}
		if !e.Spec.Healthy {
			l.state = unusable
		}
		x := f.newEngine(l)
		x.stats, x.restarts = e.Stats, e.Restarts
		x.stats.QueueTimes = nil
		f.engines = append(f.engines, x)
	}
	slices.SortStableFunc(f.engines, func(a, b *engine) int { return strings.Compare(a.address, b.address) })
	f.sequence = r.Header().Sequence
	f.at = max(taken, 1)
}

// snapshot is the entries to publish at this moment. It judges anew whether no
// engine is usable.
func (f *fleet) snapshot() []snapshot.Entry {
	best, any := uint32(0), false
	for _, e := range f.engines {
		if e.state == usable && (!any || e.rank < best) {
			best, any = e.rank, true
		}
	}
	f.allOut = !any && len(f.engines) > 0 && !f.blind
	f.entries = f.entries[:0]
	for _, e := range f.engines {
		f.entries = append(f.entries, snapshot.Entry{
			ID:       e.id,
			Spec:     e.spec(),
			Stats:    e.stats,
			Restarts: e.restarts,
		})
		s := &f.entries[len(f.entries)-1].Spec
		s.Healthy = f.blind || f.allOut || e.state == usable && e.rank == best
		s.Draining = e.state == draining && !f.blind && !f.allOut
	}
	return f.entries
}

// spec is what doesn't depend on the others. A capacity or a rate from the
// configuration outranks Envoy's weight; a KV cache that the engine states
// outranks the configured one.
func (e *engine) spec() load.Spec {
	tokens := e.stats.KVCapacity
	if tokens == 0 {
		tokens = float64(e.configured.kvTokens)
	}
	weight := e.configured.capacity
	if weight == 0 {
		weight = float64(e.weight)
	}
	return load.Spec{
		Capacity: uint64(tokens) * bytesPerToken,
		Weight:   weight,
		Rate:     e.configured.rate,
		Far:      e.far,
	}
}

// healthy counts the candidates of the last snapshot, as Envoy sees them.
func (f *fleet) healthy() int {
	n := 0
	for i := range f.entries {
		if f.entries[i].Spec.Healthy && !f.allOut {
			n++
		}
	}
	return n
}
