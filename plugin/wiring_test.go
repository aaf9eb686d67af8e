// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestRolledBackConfigurationIsInForce: Envoy takes up a filter again that it
// had configured before, without configuring it anew.
func TestRolledBackConfigurationIsInForce(t *testing.T) {
	const before = `{"pools":[{"cluster":"engines","endpoints":["10.0.0.1:80"]}]}`
	const after = `{"pools":[{"cluster":"engines","endpoints":["10.0.0.2:80"]}]}`
	h := newFakeHost(before)
	n := newNative(h)
	d := start(t, h, n)
	const second = 1000
	h.config, h.context = after, second
	n.roots[second] = n.vm.NewPluginContext(second)
	if !n.roots[second].OnPluginStart(0) {
		t.Fatalf("the second configuration was refused: %q", h.logs)
	}
	chat := func(root uint32) string {
		d.next++
		n.create(d.next, root)
		h.context = d.next
		body := chatBody("ann", 2)
		h.stream().request = chatHeaders(len(body))
		n.requestHeaders(d.next, 0, false)
		d.body(d.next, body, true)
		to := d.destination(d.next)
		d.finish(d.next)
		return to
	}
	for _, step := range []struct {
		root uint32
		want string
	}{{second, "10.0.0.2:80"}, {root, "10.0.0.1:80"}, {second, "10.0.0.2:80"}} {
		d.tick(2 * ownerIdle)
		if got := chat(step.root); got != step.want {
			t.Errorf("a request of filter %d goes to %q, want %q", step.root, got, step.want)
		}
	}
	if got := chat(root); got != "10.0.0.2:80" {
		t.Errorf("the pool changed hands at once, to %q: two filters would take it from each other for each request", got)
	}
}

// TestMiswiringIsSaid: choices that never take effect are logged, once.
func TestMiswiringIsSaid(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		for i := range miswiredFrom {
			body := chatBody("ann", 1+i%3)
			id, _ := d.stream(chatHeaders(len(body)), false)
			d.body(id, body, true)
			d.answer(id, "10.9.9.9:80", "{}")
			d.finish(id)
			d.tick(200 * time.Millisecond)
		}
		if n := d.said("override_host"); n != 1 {
			t.Errorf("said %d times, want once: %q", n, d.host.logs)
		}
		if n := d.host.metric("kvsteer_endpoint_failures"); n != 0 {
			t.Errorf("kvsteer_endpoint_failures = %d for answers of other hosts", n)
		}
	})
}

// said counts the log lines that have this part.
func (d *driver) said(part string) (n int) {
	for _, line := range d.host.logs {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// TestChanceHitsDoNotHideMiswiring: Envoy's own balancer meets the choice now
// and then, the oftener the fewer engines there are.
func TestChanceHitsDoNotHideMiswiring(t *testing.T) {
	for n := 2; n <= 4; n++ {
		drive(t, withEngines(n), func(t *testing.T, d *driver) {
			balancer := rand.New(rand.NewPCG(1, uint64(n)))
			d.serve(2*miswiredFrom, func([]string) served {
				return served{from: fmt.Sprintf("10.0.0.%d:80", 1+balancer.IntN(n))}
			})
			if got := d.said("override_host"); got != 1 {
				t.Errorf("%d engines: said %d times, want once", n, got)
			}
		})
	}
}

// TestFailuresAreNoMiswiring: what engines that fail make of choices.
func TestFailuresAreNoMiswiring(t *testing.T) {
	answered := 0
	tests := []struct {
		name   string
		answer func(list []string) served
	}{
		{"one in five served by the second", func(list []string) served {
			answered++
			if answered%5 == 0 {
				return served{from: list[1]}
			}
			return served{from: list[0]}
		}},
		{"one engine is down", func(list []string) served {
			if list[0] == "10.0.0.2:80" {
				return served{from: list[1]}
			}
			return served{from: list[0]}
		}},
		{"all are down", func(list []string) served {
			return served{from: list[len(list)-1], status: "503", details: "upstream_reset_before_response_started{connection_failure}"}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, withEngines(40), func(t *testing.T, d *driver) {
				d.serve(6*miswiredFrom, tt.answer)
				if got := d.said("override_host"); got != 0 {
					t.Errorf("said %d times, want never", got)
				}
			})
		})
	}
}

// withEngines is a configuration with n engines, 10.0.0.1:80 and so on.
func withEngines(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"10.0.0.%d:80"`, i+1))
	}
	return `{"pools":[{"cluster":"engines","endpoints":[` + strings.Join(list, ",") + `]}]}`
}

// serve sends n conversations, whose first turns are answered as answer says for
// the endpoints that were chosen.
func (d *driver) serve(n int, answer func(list []string) served) {
	for i := range n {
		id, _ := d.send(chatBody(fmt.Sprint("user", i), 1))
		d.respond(id, answer(strings.Split(d.destination(id), ",")))
		d.finish(id)
		d.tick(200 * time.Millisecond)
	}
}
