// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// holder is the VM that collects: the one whose clock is in the lease.

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

func TestMissingAdminClusterIsSaid(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		for _, d := range s.all() {
			d.host.missing = "admin"
		}
		s.run(5 * time.Second)
		said := 0
		for _, d := range s.all() {
			said += d.said(`cluster "admin"`)
		}
		if said != 1 {
			t.Errorf("said %d times, want once", said)
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
