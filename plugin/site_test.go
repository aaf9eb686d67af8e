// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// site is a whole Envoy in a test: worker VMs, perhaps a bootstrap collector,
// and the servers that the collector asks.
type site struct {
	workers
	bootstrap *driver // nil: there is none
	join      func(rootID string) *driver

	engines map[string]*simEngine // by address, what Envoy lists and what answers
	admin   func() (status, page string)
	asked   []fakeCallout   // requests of collectors, answered or not
	salt    int             // makes prompts different
	silent  map[string]bool // clusters and engines that never answer
}

// simEngine is an engine of a site.
type simEngine struct {
	health                   string // members of Envoy's health_status
	extra                    string // further members of the host
	waiting, running, tokens float64
	started                  float64
	page                     string // instead of one made of the numbers
	status                   string // of the metrics page; "" = 200
}

// collected is the configuration of a site's VMs.
const collected = `{"pools":[{"cluster":"engines"}],"collector":{"admin_cluster":"admin"}}`

// driveSite runs a test over the contexts and over the module, with two workers
// and three engines, once with a bootstrap collector and once without.
func driveSite(t *testing.T, config string, f func(t *testing.T, s *site)) {
	kinds := map[string]func(*testing.T, *fakeHost) guest{
		"contexts": func(_ *testing.T, h *fakeHost) guest { return newNative(h) },
		"module":   func(t *testing.T, h *fakeHost) guest { return newModule(t, h) },
	}
	for kind, guest := range kinds {
		for _, home := range []string{"bootstrap", "worker"} {
			t.Run(kind+"/"+home, func(t *testing.T) {
				f(t, newSite(t, config, home, guest))
			})
		}
	}
}

func newSite(t *testing.T, config, home string, guest func(*testing.T, *fakeHost) guest) *site {
	randomness = rand.NewChaCha8([32]byte{}) // VMs name themselves at random
	t.Cleanup(func() { randomness = nil })
	s := &site{engines: map[string]*simEngine{}, silent: map[string]bool{}}
	for i := range 3 {
		s.engines[fmt.Sprintf("10.0.0.%d:8000", i+1)] = &simEngine{started: 100}
	}
	s.admin = func() (string, string) { return "200", s.adminPage() }
	first := newFakeHost(config)
	s.join = func(rootID string) *driver {
		h := newFakeHost(config)
		h.shared, h.queues, h.clock = first.shared, first.queues, first.clock
		if len(s.workers) > 0 {
			h.clock = s.workers[0].host.clock
		}
		h.attributes["plugin_root_id"] = rootID
		d := start(t, h, guest(t, h))
		if rootID != collectorRootID {
			s.workers = append(s.workers, d)
		}
		return d
	}
	s.join("kvsteer")
	s.join("kvsteer")
	if home == "bootstrap" {
		s.bootstrap = s.join(collectorRootID)
		return s
	}
	// A worker collects once it has served: these requests found no endpoint.
	for _, d := range s.workers {
		d.bare()
	}
	return s
}

// bare sends a request that no engine is known for.
func (d *driver) bare() {
	id, _ := d.stream([][2]string{{":method", "GET"}, {":path", "/"}}, true)
	d.finish(id)
}

// all are the VMs of the site.
func (s *site) all() []*driver {
	if s.bootstrap == nil {
		return s.workers
	}
	return append(slices.Clone([]*driver(s.workers)), s.bootstrap)
}

// run lets time pass in ticks; what collectors ask is answered within the tick,
// and what queues hold is delivered.
func (s *site) run(d time.Duration) {
	for range d / tickPeriod {
		now := s.workers[0].host.clock + tickPeriod
		for _, d := range s.all() {
			d.tick(now - d.host.clock)
		}
		for _, d := range s.all() {
			s.answerCalls(d)
		}
		s.deliver()
	}
}

func (s *site) answerCalls(d *driver) {
	for d.host.answered < len(d.host.callouts) {
		d.host.answered++
		c := d.host.callouts[d.host.answered-1]
		s.asked = append(s.asked, c)
		to := cmp.Or(c.header(destinationHeader), c.cluster)
		if s.silent[to] {
			continue
		}
		status, page := s.serve(c.cluster, to)
		d.host.page = &fakeStream{response: [][2]string{{":status", status}}, chunk: []byte(page)}
		d.host.context = root
		d.vm.callResponse(root, uint32(d.host.answered), 1, len(page))
	}
}

func (c fakeCallout) header(name string) string {
	for _, l := range c.headers {
		if l[0] == name {
			return l[1]
		}
	}
	return ""
}

// serve is what a cluster answers.
func (s *site) serve(cluster, to string) (status, page string) {
	if cluster == "admin" {
		return s.admin()
	}
	e := s.engines[to]
	if e == nil {
		return "503", "no healthy upstream"
	}
	return cmp.Or(e.status, "200"), cmp.Or(e.page, fmt.Sprintf("vllm:num_requests_waiting %v\nvllm:num_requests_running %v\n"+
		"vllm:prompt_tokens_total %v\nprocess_start_time_seconds %v\n", e.waiting, e.running, e.tokens, e.started))
}

// adminPage is Envoy's /clusters page with the site's engines.
func (s *site) adminPage() string {
	var hosts []string
	for _, address := range slices.Sorted(maps.Keys(s.engines)) {
		e := s.engines[address]
		ip, port, _ := strings.Cut(address, ":")
		hosts = append(hosts, fmt.Sprintf(`{"address":{"socket_address":{"address":%q,"port_value":%s}},"health_status":{%s},"weight":1%s}`,
			ip, port, cmp.Or(e.health, `"eds_health_status":"HEALTHY"`), e.extra))
	}
	return `{"cluster_statuses":[{"name":"engines","host_statuses":[` + strings.Join(hosts, ",") + `]}]}`
}

// deliver tells each VM of the messages in its queue.
func (s *site) deliver() {
	for i := range *s.workers[0].host.queues {
		q := &(*s.workers[0].host.queues)[i]
		for _, d := range s.workers {
			if len(q.messages) > 0 && q.consumer == d.host {
				d.host.context = root
				d.vm.queueReady(root, uint32(i+1))
			}
		}
	}
}

// kill ends a VM without notice.
func (s *site) kill(d *driver) {
	if d == s.bootstrap {
		s.bootstrap = nil
	}
	s.workers = slices.DeleteFunc(s.workers, func(w *driver) bool { return w == d })
}

// where sends n cold requests through a worker and returns how many went where.
func (s *site) where(n int) map[string]int {
	to := map[string]int{}
	for i := range n {
		s.salt++
		body := chatBody(fmt.Sprintf("cold %d", s.salt), 2)
		to[s.workers[i%len(s.workers)].chatNow(body)]++
	}
	return to
}

// candidates opens n cold requests at once, so that the queues spread them, and
// returns where they went.
func (s *site) candidates(n int) map[string]bool {
	to := map[string]bool{}
	open := map[*driver][]uint32{}
	for i := range n {
		s.salt++
		d := s.workers[i%len(s.workers)]
		body := chatBody(fmt.Sprintf("cold %d", s.salt), 1)
		id, _ := d.stream(chatHeaders(len(body)), false)
		d.body(id, body, true)
		to[first(d.destination(id))] = true
		open[d] = append(open[d], id)
	}
	for d, ids := range open {
		for _, id := range ids {
			d.answer(id, first(d.destination(id)), `{"usage":{}}`)
			d.finish(id)
		}
	}
	return to
}

// wants checks the candidates.
func (s *site) wants(t *testing.T, when string, want ...string) {
	t.Helper()
	got := s.candidates(30)
	if len(got) != len(want) {
		t.Errorf("%s: candidates %v, want %v", when, slices.Sorted(maps.Keys(got)), want)
	}
	for _, e := range want {
		if !got[e] {
			t.Errorf("%s: candidates %v, want %v", when, slices.Sorted(maps.Keys(got)), want)
		}
	}
}

// chatNow is chat within one moment.
func (d *driver) chatNow(body string) string {
	d.t.Helper()
	id, _ := d.stream(chatHeaders(len(body)), false)
	d.body(id, body, true)
	to := first(d.destination(id))
	if to != "" {
		d.answer(id, to, `{"usage":{}}`)
	}
	d.finish(id)
	return to
}
