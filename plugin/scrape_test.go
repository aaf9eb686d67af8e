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
		s.asked = nil
		s.run(time.Minute)
		n := 0
		for _, c := range s.asked {
			if c.header(destinationHeader) == one {
				n++
			}
		}
		if n < 6 || n > 10 {
			t.Errorf("an engine that fails for long was asked %d times in a minute, want about once in %v", n, backOffMost)
		}
		s.engines[one].status = ""
		s.run(backOffMost * 12 / 10)
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

// TestEndpointGaugesAreNotKeptForEver: what isn't known any more isn't shown.
func TestEndpointGaugesAreNotKeptForEver(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		wants := func(when string, healthy, waiting, running, kvUse int64) {
			t.Helper()
			for name, want := range map[string]int64{"healthy": healthy, "waiting": waiting, "running": running, "kv_use_permille": kvUse} {
				if got := s.metric("kvsteer_endpoint_" + name + ".engines.10.0.0.1_8000"); got != want {
					t.Errorf("%s: %s = %d, want %d", when, name, got, want)
				}
			}
		}
		e := s.engines[one]
		e.page = "vllm:num_requests_waiting 30\nvllm:num_requests_running 4\nvllm:kv_cache_usage_perc 0.5\n"
		s.run(2 * within)
		wants("while it is read", 1, 30, 4, 500)
		e.status = "500"
		s.run(healthAge - within)
		wants("soon after its last page", 1, 30, 4, 500)
		s.run(2 * within)
		wants("long after its last page", 1, 0, 0, 0)
		e.status = ""
		s.run(backOffMost * 12 / 10)
		wants("when it is read again", 1, 30, 4, 500)
		delete(s.engines, one)
		s.run(within)
		wants("when it has left", 0, 0, 0, 0)
		s.engines[one] = e
		s.run(2 * within)
		wants("when it is back", 1, 30, 4, 500)
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
