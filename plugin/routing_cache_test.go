// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// ask sends a request that is over at once.
func (d *driver) ask(expression string, more ...string) {
	id, _ := d.stream(asking(expression, more...), true)
	d.finish(id)
}

// TestGatewaysThatDisagreeDontRebuild: the current and the previous expression
// of a target are both kept, a third takes the place of the first.
func TestGatewaysThatDisagreeDontRebuild(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		for range 50 {
			d.ask("pulsar;seed=old", "x-model", "m")
			d.ask(" PULSAR; seed=\"new\"", "x-model", "m")
		}
		d.want(map[string]int64{
			"routing_definition_cache_total.method.pulsar.result.miss":          2,
			"routing_definition_cache_total.method.pulsar.result.hit":           98,
			"routing_definition_cache_entries":                                  2,
			"routing_definitions":                                               2,
			"routing_definition_cache_evictions_total.cause.replaced":           0,
			"routing_selections_total.method.pulsar.selection.primary":          100,
			"routing_definition_cache_total.method.round-robin.result.uncached": 0,
		})
		d.ask("pulsar;seed=third", "x-model", "m")
		d.ask("pulsar;seed=new", "x-model", "m")
		d.ask("round-robin", "x-model", "m")
		d.want(map[string]int64{
			"routing_definition_cache_total.method.pulsar.result.miss":          3,
			"routing_definition_cache_total.method.pulsar.result.hit":           99,
			"routing_definition_cache_entries":                                  2,
			"routing_definition_cache_evictions_total.cause.replaced":           1,
			"routing_definition_cache_total.method.round-robin.result.uncached": 1,
		})
	})
}

func TestConfigurationChangeEvicts(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		for i := range 5 {
			d.ask("pulsar;seed=a", "x-model", fmt.Sprint("m", i))
		}
		d.want(map[string]int64{"routing_definition_cache_entries": 5, "routing_definitions": 1})
		const second = root + 1
		d.host.context = second
		if !d.vm.configure(second) {
			t.Fatalf("refused: %q", d.host.logs)
		}
		d.vm.done(root)
		d.host.clock += tickPeriod
		d.vm.tick(second)
		for name, want := range map[string]int64{
			"definition_cache_entries": 0, "definitions": 0, "definition_cache_evictions_total.cause.config_change": 5,
		} {
			if got := d.host.metric("kvsteer_routing_" + name); got != want {
				t.Errorf("kvsteer_routing_%s = %d, want %d", name, got, want)
			}
		}
	})
}

// TestMemoryIsFlat: once the caches are full, 10,000 further targets and 10,000
// further seeds leave the module as it is, but for the heap's fragments.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("42,000 requests")
	}
	const section = `"routing":{"request_algorithms":{"round-robin":"round-robin","pulsar":"pulsar",
		"wait-and-widen":{"algorithm":"wait-and-widen","cache_affinity_backend_selection_count":2}}}`
	h := newFakeHost(sixEndpoints(section))
	m := newModule(t, h)
	d := start(t, h, m)
	flood := func(name string, n int) uint32 {
		for i := range n {
			key := fmt.Sprint(name, i)
			d.ask("wait-and-widen;seed=s"+key, "x-model", "m", "x-cache-affinity-key", key)
			d.ask("round-robin", "x-model", "m"+key, "x-routing-key", key)
			d.ask("pulsar;seed=a", "x-model", "m", "x-routing-key", key, "x-cache-affinity-key", key)
			if i%100 == 0 {
				d.tick(time.Second)
				h.logs = nil
			}
		}
		return m.mod.Memory().Size()
	}
	full := flood("full", 4000)
	t.Logf("%d KiB", full>>10)
	if after := flood("further", 10_000); after > full+512<<10 {
		t.Errorf("the module grew from %d to %d KiB", full>>10, after>>10)
	}
	if full > 16<<20 {
		t.Errorf("the module has %d KiB, want at most 16 MiB", full>>10)
	}
	d.want(map[string]int64{"routing_definition_cache_entries": 1024, "panics": 0})
}

// TestMetricsAreClosed: whatever requests carry, no metric comes to those that
// are there from the start.
func TestMetricsAreClosed(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		before := len(d.host.metrics)
		random := rand.New(rand.NewPCG(1, 1))
		words := []string{"pulsar", "random", "RANDOM", "power_of_two", "sticky", ";", "; ", "=", "n", "seed", "sample_count", "1", "2.5", `"x"`, ",", "é", "\x01",
			"comparator", "ttft", "max_queued", "true", "wait-and-widen", "-", " "}
		n := 10_000
		if _, isModule := d.vm.(*module); isModule {
			n = 1000
		}
		for i := range n {
			var b strings.Builder
			for range random.IntN(8) {
				b.WriteString(words[random.IntN(len(words))])
			}
			d.ask(b.String(), "x-model", fmt.Sprint("m", i%7))
			if i%100 == 0 {
				d.tick(tickPeriod)
			}
		}
		d.tick(tickPeriod)
		if after := len(d.host.metrics); after != before {
			t.Errorf("%d metrics became %d", before, after)
		}
		if d.host.metric("kvsteer_panics") != 0 {
			t.Error("a random expression makes it panic")
		}
		outcomes := int64(0)
		for _, m := range d.host.metrics {
			if strings.HasPrefix(m.name, "kvsteer_routing_requests_total.") {
				outcomes += m.value
			}
		}
		if outcomes != int64(n) {
			t.Errorf("%d outcomes of %d requests", outcomes, n)
		}
	})
}

func TestRoutingLogs(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		d.host.debug = true
		d.tick(tickPeriod)
		lines := func(expression string, more ...string) string {
			d.host.logs = nil
			d.host.clock += time.Second
			d.ask(expression, more...)
			return strings.Join(d.host.logs, "\n")
		}
		const secret = "session-4711"
		got := lines(`Power_Of_Two; sample_count="03"`, "x-model", "m", "x-cache-affinity-key", secret, "x-priority", "4")
		for _, want := range []string{
			"routing built", "routing accepted", `routing.expression="power-of-n;sample_count=3"`, "routing.algorithm=power-of-n",
			`routing.requested_algorithm="Power_Of_Two"`, `routing.base="request_algorithms/power-of-n"`, "routing.cache=miss", "routing.comparator=ttft",
			"routing.num_candidates=6", "routing.sample_count_effective=3", "routing.rank_depth=1", "request.priority=4", "request.cache_affinity_key_present=true",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
		if strings.Contains(got, secret) {
			t.Errorf("the affinity key is in\n%s", got)
		}
		got = lines("pulsar;seed=\"a\"\n\x80;"+strings.Repeat("x", 300), "x-model", "m")
		want := `kvsteer: routing rejected code=malformed_expression reason=charset model="m" routing_key_present=false raw="pulsar;seed=\x22a\x22\x0a\x80;` + strings.Repeat("x", 110) + `"`
		if got != want {
			t.Errorf("log\n%s\nwant\n%s", got, want)
		}

		d.host.logs = nil
		d.host.clock += time.Second
		for range 40 {
			d.ask("sticky")
		}
		if n := len(d.host.logs); n != linesPerSecond {
			t.Errorf("%d lines of 40 rejections in a second, want %d", n, linesPerSecond)
		}
		if got = lines("sticky"); !strings.Contains(got, "30 more lines were suppressed") {
			t.Errorf("a second later:\n%s", got)
		}
	})
}

func TestDurationsAreSampled(t *testing.T) {
	h := newFakeHost(sixEndpoints(allAlgorithms))
	d := start(t, h, newNative(h))
	before := h.calls["recordMetric"]
	for range timedEvery + 1 {
		d.ask("random")
	}
	if n := h.calls["recordMetric"]; n-before != 2 {
		t.Errorf("%d durations recorded of %d requests, want 2", n-before, timedEvery+1)
	}
}

// BenchmarkRoute is what a request pays for its routing headers: reading them
// and finding what its expression comes to.
func BenchmarkRoute(b *testing.B) {
	for name, more := range map[string][][2]string{
		"no header":  nil,
		"expression": {{"x-routing-method", "power-of-n;sample_count=3;comparator=queue-time"}},
		"all": {{"x-routing-method", "pulsar;seed=stable-a"}, {"x-model", "chat-large"}, {"x-routing-key", "tenant-7"},
			{"x-cache-affinity-key", "0123456789abcdef"}, {"x-input-tokens", "4000"}, {"x-priority", "1"}},
	} {
		b.Run(name, func(b *testing.B) {
			h := newFakeHost(sixEndpoints(allAlgorithms))
			n := newNative(h)
			if !n.start(root) {
				b.Fatal(h.logs)
			}
			f := n.roots[root].(*filter)
			s := &stream{filter: f, pool: f.pools[0]}
			m := headerMapOf(append(chatHeaders(100), more...))
			b.ReportAllocs()
			for b.Loop() {
				s.route = f.router.borrow()
				classify(m, &f.shapes, s.route)
				if s.route.read() != nil || s.resolve(true) != nil {
					b.Fatal("refused")
				}
				f.router.Settle(&s.route.choice, 6, 0)
				s.closeRoute()
			}
		})
	}
}
