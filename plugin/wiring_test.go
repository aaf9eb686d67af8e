// SPDX-License-Identifier: Apache-2.0

package main

import (
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
		said := func() (n int) {
			for _, line := range d.host.logs {
				if strings.Contains(line, "override_host") {
					n++
				}
			}
			return n
		}
		for i := range 3 * missesMiswired {
			body := chatBody("ann", 1+i%3)
			id, _ := d.stream(chatHeaders(len(body)), false)
			d.body(id, body, true)
			d.answer(id, "10.9.9.9:80", "{}")
			d.finish(id)
			d.tick(200 * time.Millisecond)
		}
		if n := said(); n != 1 {
			t.Errorf("said %d times, want once: %q", n, d.host.logs)
		}
		if n := d.host.metric("kvsteer_endpoint_failures"); n != 0 {
			t.Errorf("kvsteer_endpoint_failures = %d for answers of other hosts", n)
		}
	})
}
