// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// life plays one request that may end anywhere, as clients and engines do.
func (d *driver) life(r *rand.Rand, bodies []string) {
	body := bodies[r.IntN(len(bodies))]
	id, _ := d.stream(chatHeaders(len(body)-r.IntN(2)*(len(body)+1)), false)
	defer d.finish(id)
	cut := r.IntN(len(body))
	if r.IntN(10) == 0 {
		return
	}
	d.body(id, body[:cut], false)
	if r.IntN(10) == 0 {
		return
	}
	if r.IntN(20) > 0 {
		d.body(id, body[cut:], true)
	}
	list := [...]string{first(d.destination(id)), "10.0.0.1:80", "10.0.0.2:80", "10.9.9.9:80", ""}
	a := usageOf(1000, r.IntN(1000))
	a.from = list[max(0, r.IntN(12)-7)]
	a.status = [...]string{"200", "400", "500", "503"}[max(0, r.IntN(12)-8)]
	if r.IntN(3) == 0 {
		a.lines[0][1] = "text/event-stream"
	}
	if r.IntN(5) == 0 {
		a.chunks, a.open = a.chunks[:r.IntN(3)], true
		d.host.streams[id].attributes["response\x00flags"] = "\x40\x00\x00\x00\x00\x00\x00\x00"
	}
	if r.IntN(10) > 0 {
		d.respond(id, a)
	}
}

// TestNothingLeaks plays requests that end in every phase and checks that
// nothing of them is left.
func TestNothingLeaks(t *testing.T) {
	var bodies []string
	for i := range 40 {
		bodies = append(bodies, chatBody(fmt.Sprint("user", i/4), 1+i%4))
	}
	play := func(d *driver, n int) {
		r := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			d.life(r, bodies)
			if i%50 == 0 {
				d.tick(tickPeriod)
			}
		}
		d.tick(time.Second)
	}
	t.Run("contexts", func(t *testing.T) {
		h := newFakeHost(fourEndpoints)
		n := newNative(h)
		d := start(t, h, n)
		play(d, 5_000)
		before := heap()
		play(d, 95_000)
		if grown := int64(heap()) - int64(before); grown > 1<<20 {
			t.Errorf("95,000 requests have left %d bytes", grown)
		}
		d.same("flights_started", "flights_ended")
		f := n.roots[root].(*filter)
		if len(f.waiting) != 0 || f.readers.lent != 0 || f.usages.lent != 0 || f.usages.streams != 0 {
			t.Errorf("%d streams wait, %d readers and %d readers of usage (%d of streams) are lent",
				len(f.waiting), f.readers.lent, f.usages.lent, f.usages.streams)
		}
		for _, e := range f.pools[0].View().Endpoints() {
			if e.Queued() != 0 || e.InFlight() != 0 {
				t.Errorf("%s has %d tokens of %d requests in flight", e.ID, e.Queued(), e.InFlight())
			}
		}
	})
	t.Run("module", func(t *testing.T) {
		h := newFakeHost(fourEndpoints)
		m := newModule(t, h)
		d := start(t, h, m)
		play(d, 2_000)
		before := m.mod.Memory().Size()
		play(d, 8_000)
		if grown := m.mod.Memory().Size() - before; grown > 1<<20 {
			t.Errorf("8,000 requests have grown the memory by %d bytes", grown)
		}
		d.same("flights_started", "flights_ended")
		d.want(map[string]int64{"panics": 0})
	})
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// same checks that two counters are equal.
func (d *driver) same(a, b string) {
	d.t.Helper()
	if x, y := d.host.metric("kvsteer_"+a), d.host.metric("kvsteer_"+b); x != y || x == 0 {
		d.t.Errorf("kvsteer_%s = %d, kvsteer_%s = %d; want the same", a, x, b, y)
	}
}
