// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// within is how soon a change must be known to every worker.
const within = 2 * time.Second

// engine names of a site.
const one, two, three, four = "10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000", "10.0.0.4:8000"

func TestCollectorFollowsTheHostList(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(500 * time.Millisecond)
		s.wants(t, "at first", one, two, three)
		s.engines[four] = &simEngine{}
		s.run(within)
		s.wants(t, "after an engine came", one, two, three, four)
		if got := s.where(20); got[four] == 0 {
			t.Errorf("after an engine came requests went to %v", got)
		}
		delete(s.engines, one)
		s.run(within)
		s.wants(t, "after an engine left", two, three, four)
		if got := s.metric("kvsteer_endpoints"); got != 3 {
			t.Errorf("kvsteer_endpoints = %d, want 3", got)
		}
		s.noPanics(t)
	})
}

func TestCollectorTakesUnusableEndpointsOut(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		for name, health := range map[string]string{
			"failed health check":   `"failed_active_health_check":true,"eds_health_status":"HEALTHY"`,
			"ejected":               `"failed_outlier_check":true,"eds_health_status":"HEALTHY"`,
			"unhealthy by EDS":      `"eds_health_status":"UNHEALTHY"`,
			"draining":              `"eds_health_status":"DRAINING"`,
			"gone, requests remain": `"pending_dynamic_removal":true,"eds_health_status":"HEALTHY"`,
		} {
			s.engines[two].health = health
			s.run(within)
			s.wants(t, name, one, three)
			if got := s.metric("kvsteer_endpoints_healthy"); got != 2 {
				t.Errorf("%s: kvsteer_endpoints_healthy = %d, want 2", name, got)
			}
			s.engines[two].health = ""
			s.run(within)
			s.wants(t, "after "+name, one, two, three)
		}
	})
}

func TestCollectorPrefersWhatEnvoyWould(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.engines[one].extra = `,"priority":1`
		s.engines[two].health = `"eds_health_status":"DEGRADED"`
		s.run(within)
		s.wants(t, "one healthy engine of the first priority", three)
		s.engines[three].health = `"failed_active_health_check":true`
		s.run(within)
		s.wants(t, "a degraded engine before one of the second priority", two)
		s.engines[two].health = `"failed_active_health_check":true`
		s.run(within)
		s.wants(t, "the second priority alone", one)
		s.engines[one].health = `"failed_outlier_check":true`
		s.run(within)
		s.wants(t, "no usable engine", one, two, three)
		if got := s.metric("kvsteer_all_endpoints_unhealthy"); got != 1 {
			t.Errorf("kvsteer_all_endpoints_unhealthy = %d, want 1", got)
		}
	})
}

func TestCollectorShowsForeignLoad(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(within)
		s.where(60) // tells the mean size of a prompt
		warm := chatBody("warm", 6)
		s.run(time.Second)
		home := s.workers[0].chatNow(warm)
		s.engines[home].waiting, s.engines[home].running = 20, 40
		s.run(within)
		if got := s.where(30); got[home] != 0 {
			t.Errorf("cold requests with foreign ones queued at %s: %v", home, got)
		}
		s.engines[home].waiting = 100
		s.run(within)
		if got := s.workers[0].chatNow(warm); got == home {
			t.Error("a warm conversation stays with an engine whose queue is full")
		}
		s.engines[home].waiting, s.engines[home].running = 0, 0
		s.run(within)
		if got := s.where(60); got[home] == 0 {
			t.Errorf("after the foreign load: %v", got)
		}
	})
}

func TestCollectorForgetsPlacementsOfRestartedEngines(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(within)
		s.engines[one].started = 200
		s.run(within)
		if got, want := s.metric("kvsteer_endpoint_restarts"), int64(2); got != want {
			t.Errorf("kvsteer_endpoint_restarts = %d, want one in each worker", got)
		}
		s.engines[two].page = "vllm:num_requests_running 1\nvllm:prompt_tokens_total 500\n"
		s.run(within)
		s.engines[two].page = "vllm:num_requests_running 1\nvllm:prompt_tokens_total 4\n"
		s.run(within)
		if got := s.metric("kvsteer_endpoint_restarts"); got != 4 {
			t.Errorf("after a counter went back: kvsteer_endpoint_restarts = %d, want 4", got)
		}
		s.engines[three].started = 100.5
		s.run(within)
		if got := s.metric("kvsteer_endpoint_restarts"); got != 4 {
			t.Error("the start of another process of one server was taken for a restart")
		}
	})
}

func TestCollectorSurvivesBadAnswers(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(time.Second)
		good := s.admin
		whole := s.adminPage()
		for _, bad := range []struct{ name, status, page string }{
			{"error page", "503", "no healthy upstream"},
			{"empty", "200", ""},
			{"no JSON", "200", "<html>"},
			{"cut", "200", whole[:len(whole)-5]},
			{"no status", "", ""},
			{"another cluster", "200", strings.Replace(whole, "engines", "others", 1)},
			{"nesting without end", "200", strings.Repeat(`{"a":[`, 10_000)},
		} {
			s.admin = func() (string, string) { return bad.status, bad.page }
			s.run(within)
			s.wants(t, bad.name, one, two, three)
		}
		s.admin = good
		pages := []string{"", "\x00\xff", "vllm:num_requests_waiting{", "# only a comment\n", strings.Repeat("x", 1<<20),
			"vllm:num_requests_waiting NaN\n", strings.Repeat("vllm:num_requests_waiting{a=\"b\"} 1\n", 50_000)}
		for i, page := range pages {
			s.engines[[]string{one, two, three}[i%3]].page = page
			s.run(within)
		}
		s.silent["admin"], s.silent[one] = true, true
		s.run(5 * time.Second)
		for _, d := range s.all() {
			d.host.context = root
			d.vm.callResponse(root, 1, 0, 0) // a token that nobody waits for
			d.vm.callResponse(root, 1<<30, 1, 100)
			d.vm.queueReady(root, 99)
		}
		s.wants(t, "a silent admin page", one, two, three)
		for _, name := range []string{"kvsteer_host_lists_failed", "kvsteer_scrapes_failed"} {
			if s.metric(name) == 0 {
				t.Errorf("%s = 0", name)
			}
		}
		s.noPanics(t)
	})
}

func (s *site) noPanics(t *testing.T) {
	t.Helper()
	s.run(tickPeriod)
	if got := s.metric("kvsteer_panics"); got != 0 {
		t.Errorf("kvsteer_panics = %d", got)
	}
}

// metric adds up a metric over all VMs.
func (s *site) metric(name string) (sum int64) {
	for _, d := range s.all() {
		sum += d.host.metric(name)
	}
	return sum
}

// Health that nobody has confirmed for long is not held against an endpoint.
func TestHealthAgesOutWithTheHostList(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.engines[one].health = `"failed_active_health_check":true`
		s.run(within)
		s.silent["admin"] = true
		s.run(healthAge - within)
		s.wants(t, "soon after the last list", two, three)
		s.run(2 * within)
		s.wants(t, "long after the last list", one, two, three)
		s.silent["admin"] = false
		s.run(3 * within)
		s.wants(t, "with a list again", two, three)
	})
}

// A collector that holds the lease and does nothing is the worst that can
// happen to it.
func TestFrozenCollectorAgesOut(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.engines[one].waiting, s.engines[one].running = 30, 30
		s.engines[two].health = `"failed_active_health_check":true`
		s.run(within)
		s.where(30)
		s.run(time.Second)
		if got := s.where(20); got[three] != 20 {
			t.Fatalf("before: %v", got)
		}
		if s.bootstrap != nil {
			s.kill(s.bootstrap)
		}
		other := lease{id: 1, rank: bootstrap}
		for range 13 * time.Second / tickPeriod {
			wall := s.workers[0].host.clock
			s.workers[0].host.shared["kvsteer/lease"] = sharedValue{other.encode(wall), 1}
			s.run(tickPeriod)
		}
		s.wants(t, "after 13 s", one, two, three)
		if got := s.where(60); got[one] == 0 {
			t.Errorf("load of 13 s ago keeps requests away: %v", got)
		}
		if got := s.metric("kvsteer_pools_without_collector"); got != 2 {
			t.Errorf("kvsteer_pools_without_collector = %d, want one for each worker", got)
		}
	})
}

func TestStandbyTakesOver(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(time.Second)
		for _, d := range s.workers {
			d.bare()
		}
		holder := s.holder()
		if s.bootstrap != nil && holder != s.bootstrap {
			t.Fatal("a worker collects beside a bootstrap collector")
		}
		if n := s.metric("kvsteer_collector_leases"); n != 1 {
			t.Fatalf("kvsteer_collector_leases = %d, want 1", n)
		}
		s.kill(holder)
		s.engines[four] = &simEngine{}
		s.run(within)
		if s.holder() == nil {
			t.Fatal("nobody collects 2 s after the collector's end")
		}
		s.wants(t, "after another took over", one, two, three, four)
		s.bootstrap = s.join(collectorRootID)
		s.run(time.Second)
		if s.holder() != s.bootstrap {
			t.Error("the bootstrap collector doesn't take the lease from a worker")
		}
		s.bootstrap.vm.done(root)
		s.kill(s.bootstrap)
		s.run(4 * leaseBeat)
		if s.holder() == nil {
			t.Error("the lease of a collector that ended in order isn't taken at once")
		}
	})
}

// holder is the VM that collects: the one whose clock is in the lease.
func (s *site) holder() *driver {
	before := map[*driver]int{}
	for _, d := range s.all() {
		before[d] = len(d.host.callouts)
	}
	s.run(time.Second)
	for d, n := range before {
		if len(d.host.callouts) > n {
			return d
		}
	}
	return nil
}

func TestVMWithoutRequestsNeverCollects(t *testing.T) {
	newGuest := func(_ *testing.T, h *fakeHost) guest { return newNative(h) }
	s := newSite(t, collected, "bootstrap", newGuest)
	s.kill(s.bootstrap)
	s.run(5 * time.Second)
	if got := s.metric("kvsteer_collector_leases"); got != 0 {
		t.Errorf("kvsteer_collector_leases = %d before any request, want 0", got)
	}
	s.workers[1].bare()
	s.run(time.Second)
	if s.holder() != s.workers[1] {
		t.Error("the one that has served doesn't collect")
	}
}

func TestVMThatStartsLaterKnowsAtOnce(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(within)
		d := s.join("kvsteer")
		if to := d.chatNow(chatBody("late", 1)); to == "" {
			t.Error("its first request finds no endpoint")
		}
	})
}

func TestQueuesOfDeadVMsAreEmptied(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		for range 5 {
			d := s.join("kvsteer")
			d.bare()
			s.run(time.Second)
			s.kill(d)
			most := 0
			for range 6 * time.Second / tickPeriod {
				s.run(tickPeriod)
				held := 0
				for _, q := range *s.workers[0].host.queues {
					held += len(q.messages)
				}
				most = max(most, held)
			}
			held := 0
			for _, q := range *s.workers[0].host.queues {
				held += len(q.messages)
			}
			if held != 0 || most == 0 || most > 40 {
				t.Fatalf("6 s after a VM's end queues hold %d messages (at most %d between)", held, most)
			}
		}
		if n := len(s.workers[0].host.shared["kvsteer/roster"].value); n > 3*rowSize {
			t.Errorf("the roster has %d bytes for two workers", n)
		}
	})
}

func TestCollectorFollowsTheClock(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(within)
		for _, jump := range []time.Duration{-30 * time.Minute, time.Hour, -time.Second} {
			for _, d := range s.all() {
				d.host.clock += jump
			}
			s.engines[four] = &simEngine{}
			s.run(2 * within)
			s.wants(t, "an engine came after a jump of "+jump.String(), one, two, three, four)
			delete(s.engines, four)
			s.run(within)
			s.wants(t, "an engine left after a jump of "+jump.String(), one, two, three)
		}
		s.noPanics(t)
	})
}

func TestScrapesAreSpreadAndBounded(t *testing.T) {
	config := `{"pools":[{"cluster":"engines"}],"collector":{"admin_cluster":"admin","in_flight":4}}`
	driveSite(t, config, func(t *testing.T, s *site) {
		for i := range 40 {
			s.engines[fmt.Sprintf("10.0.1.%d:8000", i)] = &simEngine{}
		}
		s.run(5 * time.Second)
		s.asked = nil
		most := 0
		for range 10 * time.Second / tickPeriod {
			n := len(s.asked)
			s.run(tickPeriod)
			most = max(most, len(s.asked)-n)
		}
		times := map[string]int{}
		for _, c := range s.asked {
			times[c.header(destinationHeader)]++
		}
		if times[one] < 9 || times[one] > 11 {
			t.Errorf("an engine was asked %d times in 10 s, want 10", times[one])
		}
		if most > 12 {
			t.Errorf("%d requests in one tick; 43 engines over 20 ticks should take 2 or 3 each", most)
		}
	})
}

func TestFailingEnginesAreAskedLessOften(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.engines[one].status, s.silent[two] = "500", true
		s.run(30 * time.Second)
		times := map[string]int{}
		for _, c := range s.asked {
			times[c.header(destinationHeader)]++
		}
		if times[one] > 8 || times[two] > 8 || times[three] < 25 {
			t.Errorf("asked in 30 s: %v", times)
		}
		s.engines[one].status = ""
		s.run(40 * time.Second)
		if got := s.metric("kvsteer_endpoints_without_metrics"); got != 1 {
			t.Errorf("kvsteer_endpoints_without_metrics = %d, want 1", got)
		}
	})
}

func TestIdleFleetIsAskedLessOften(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(idleAfter + 5*time.Second)
		s.asked = nil
		s.run(20 * time.Second)
		if n := len(s.asked); n < 12 || n > 20 {
			t.Errorf("%d requests in 20 s of an idle time, want 4 for each of three engines and the list", n)
		}
		s.asked = nil
		s.workers[0].chatNow(chatBody("awake", 1))
		s.run(500 * time.Millisecond)
		if n := len(s.asked); n < 4 {
			t.Errorf("%d requests within 0.5 s of the first request, want everything asked", n)
		}
	})
}

func TestScrapeNamesItsEngine(t *testing.T) {
	config := `{"pools":[{"cluster":"engines"}],"collector":{"admin_cluster":"admin",
		"metrics":{"path":"/stats","cluster":"side","port":9400}}}`
	driveSite(t, config, func(t *testing.T, s *site) {
		s.run(within)
		i := slices.IndexFunc(s.asked, func(c fakeCallout) bool { return c.cluster == "side" })
		if i < 0 {
			t.Fatal("the cluster of the metrics was never asked")
		}
		c := s.asked[i]
		if to := c.header(destinationHeader); !strings.HasSuffix(to, ":9400") || c.header(":authority") != to || c.header(":path") != "/stats" {
			t.Errorf("asked %v", c)
		}
		if c.header("accept-encoding") != "" {
			t.Error("a compressed page was asked for")
		}
	})
}

func TestAdminPageIsNarrowed(t *testing.T) {
	got := adminPath([]string{"outbound|80||llm.ns.svc", "b"})
	want := `/clusters?format=json&filter=%5E%28outbound%5C%7C80%5C%7C%5C%7Cllm%5C.ns%5C.svc%7Cb%29%24`
	if got != want {
		t.Errorf("adminPath = %s, want %s", got, want)
	}
}

func TestHostsFromADocument(t *testing.T) {
	config := `{"pools":[{"cluster":"engines"}],"collector":{"document":{"cluster":"admin","path":"/fleet.json"}}}`
	driveSite(t, config, func(t *testing.T, s *site) {
		s.admin = func() (string, string) {
			return "200", `{"endpoints":[{"address":"10.0.0.1:8000"},{"address":"10.0.0.2:8000","health":"draining"},{"address":"[2001:db8::1]:8000"}]}`
		}
		s.run(within)
		if got := s.where(40); got[one] == 0 || got["[2001:db8::1]:8000"] == 0 || len(got) != 2 {
			t.Errorf("requests went to %v", got)
		}
	})
}

func TestConfiguredEndpointsAreScraped(t *testing.T) {
	config := `{"pools":[{"cluster":"engines","endpoints":["10.0.0.1:8000",{"address":"10.0.0.2:8000","capacity":2,"kv_tokens":1000}]}],"collector":{}}`
	driveSite(t, config, func(t *testing.T, s *site) {
		s.run(within)
		s.where(20)
		s.engines[one].waiting, s.engines[one].running = 30, 30
		s.run(within)
		if got := s.where(20); got[two] != 20 {
			t.Errorf("requests went to %v", got)
		}
		if got := s.metric("kvsteer_endpoint_waiting.engines.10.0.0.1_8000"); got != 30 {
			t.Errorf("gauge of waiting requests = %d, want 30", got)
		}
	})
}

func TestEndpointGaugesAreBounded(t *testing.T) {
	config := `{"pools":[{"cluster":"engines"}],"collector":{"admin_cluster":"admin","endpoint_gauges":2}}`
	driveSite(t, config, func(t *testing.T, s *site) {
		for i := range 20 {
			s.engines = map[string]*simEngine{fmt.Sprintf("10.0.9.%d:8000", i): {}, one: {}}
			s.run(within)
		}
		names := map[string]bool{}
		for _, d := range s.all() {
			for _, m := range d.host.metrics {
				if strings.HasPrefix(m.name, "kvsteer_endpoint_waiting.") {
					names[m.name] = true
				}
			}
		}
		if len(names) != 2 {
			t.Errorf("gauges: %v, want 2", slices.Sorted(maps.Keys(names)))
		}
	})
}
