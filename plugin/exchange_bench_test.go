// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy"
)

// town is the traffic of one Envoy's VMs at 1,000 requests/s each: in a tick
// each VM serves 50 turns, each of a conversation of its own that any VM may
// serve, of 40 blocks before and 5 more after.
type town struct {
	vms     []*native
	shared  map[string]sharedValue
	hosts   []*fakeHost
	talks   [][]uint64 // blocks so far by conversation
	homes   []int      // endpoints
	rand    *rand.Rand
	now     time.Duration
	request policy.Request
}

const (
	townEndpoints = 64
	townTurns     = 50
	townBlocks    = 5
	townTalks     = 250
)

func newTown(tb testing.TB, vms int) *town {
	var ids []string
	for i := range townEndpoints {
		ids = append(ids, fmt.Sprintf(`"10.0.0.%d:80"`, i+1))
	}
	config := `{"pools":[{"cluster":"engines","endpoints":[` + strings.Join(ids, ",") + `]}]}`
	w := &town{shared: map[string]sharedValue{}, rand: rand.New(rand.NewPCG(1, 2))}
	for range vms {
		h := newFakeHost(config)
		h.shared = w.shared
		n := newNative(h)
		if !n.start(root) {
			tb.Fatal(h.logs)
		}
		n.roots[root].NewHttpContext(2)
		w.vms, w.hosts = append(w.vms, n), append(w.hosts, h)
	}
	for range townTalks {
		w.talks = append(w.talks, w.blocks(40))
		w.homes = append(w.homes, w.rand.IntN(townEndpoints))
	}
	for range 20 {
		w.serve()
		for i := range w.vms {
			w.tick(i)
		}
	}
	return w
}

// beside puts one VM of the built module into the town.
func (w *town) beside(b *testing.B) *driver {
	h := newFakeHost(w.hosts[0].config)
	h.shared = w.shared
	d := &driver{host: h, vm: newModule(b, h), next: root}
	if !d.vm.start(root) {
		b.Fatal(h.logs)
	}
	d.stream(chatHeaders(0), true)
	return d
}

func (w *town) blocks(n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = w.rand.Uint64()
	}
	return out
}

// serve lets each VM learn what it serves in a tick.
func (w *town) serve() {
	w.now += tickPeriod
	r := &w.request
	for i, n := range w.vms {
		w.hosts[i].clock = time.Hour + w.now
		v := n.vm
		v.time()
		p := v.pools["engines"]
		for range townTurns {
			c := w.rand.IntN(townTalks)
			talk := append(w.talks[c], w.blocks(townBlocks)...)
			if len(talk) > 160 {
				talk = w.blocks(40 + townBlocks) // another conversation
			}
			w.talks[c] = talk
			*r = policy.Request{Now: v.clock, Tag: 1, TagKnown: true, Hashes: talk, Key: talk[0], KeyKnown: true, Ends: r.Ends[:0]}
			for k := range talk {
				r.Ends = append(r.Ends, uint32(1024*(k+1)))
			}
			e := p.View().Endpoints()[w.homes[c]]
			v.exchange.learned(p, e, r, p.Known(e, r))
			p.Learn(e, r, 0)
		}
	}
}

func (w *town) tick(i int) { w.vms[i].vm.exchange.tick(w.vms[i].vm.clock) }

// BenchmarkExchangeTick is the cost of one VM's tick among several.
func BenchmarkExchangeTick(b *testing.B) {
	for _, n := range []int{2, 4, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newTown(b, n)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				w.serve()
				for i := 1; i < n; i++ {
					w.tick(i)
				}
				b.StartTimer()
				w.tick(0)
			}
			v := w.vms[0].vm
			ticks := float64(b.N)
			b.ReportMetric(float64(v.metrics.pending[sharedPlacementsReceived])/ticks, "received/tick")
			b.ReportMetric(float64(v.metrics.pending[sharedPlacementsSent])/ticks, "sent/tick")
			b.ReportMetric(float64(v.metrics.pending[sharedPlacementsDropped])/ticks, "dropped/tick")
			b.ReportMetric(float64(v.metrics.pending[sharedGaps]), "gaps")
			b.ReportMetric(float64(len(w.shared[v.exchange.peers[v.exchange.slot].segmentKeys[0]].value)), "bytes/segment")
		})
	}
}

// BenchmarkExchangeTickModule is the same for a VM of the built module, under
// wazero, that has nothing to tell itself.
func BenchmarkExchangeTickModule(b *testing.B) {
	for _, n := range []int{2, 4, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newTown(b, n-1)
			d := w.beside(b)
			turn := func() {
				w.serve()
				for i := range w.vms {
					w.tick(i)
				}
				d.host.clock = w.hosts[0].clock
			}
			for range 20 {
				turn()
				d.vm.tick(root)
			}
			before := d.host.metric("kvsteer_shared_placements_received")
			for b.Loop() {
				b.StopTimer()
				turn()
				b.StartTimer()
				d.vm.tick(root)
			}
			b.ReportMetric(float64(d.host.metric("kvsteer_shared_placements_received")-before)/float64(b.N), "received/tick")
		})
	}
}
