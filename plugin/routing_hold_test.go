// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// oneSlot is a pool whose only endpoint takes a request if nobody waits there.
func oneSlot(more string) string {
	return `{"decision_header":true,"pools":[{"cluster":"engines","endpoints":[{"address":"10.0.0.1:80","prefill_tokens_per_second":10}]}],
		"routing":{` + more + `"request_algorithms":{"wait-and-widen":
		{"algorithm":"wait-and-widen","max_queue_time_floor_ms":0,"max_queue_time_ceil_ms":0},"random":"random"}}}`
}

// willing asks for the slot and waits for it so long.
func willing(ms string, more ...string) [][2]string {
	return asking("wait-and-widen", append(more, "x-max-wait-ms", ms, "x-input-tokens", "9")...)
}

// freed tells that the slot's prompt is computed.
func (d *driver) freed(id uint32) {
	d.answer(id, "10.0.0.1:80", "{}")
	d.finish(id)
}

// filled sends a request to the slot, which is busy with it until it is freed.
func (d *driver) filled() uint32 {
	d.t.Helper()
	id, _ := d.stream(chatHeaders(-1), false)
	d.body(id, chatBody("ann", 1), true)
	if d.destination(id) == "" {
		d.t.Fatal("the first request finds no slot")
	}
	return id
}

func (d *driver) going(id uint32) bool { return d.host.streams[id].continued > 0 }

func TestHeldUntilAnEndpointCanBeChosen(t *testing.T) {
	body := chatBody("ben", 2)
	for _, tt := range []struct{ name, before, during string }{
		{"body before", body, ""}, {"body during", "", body}, {"body in pieces", body[:100], body[100:]}, {"no body yet", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, oneSlot(""), func(t *testing.T, d *driver) {
				busy := d.filled()
				id, action := d.stream(willing("1000"), false)
				if action != requestPaused || d.host.period != holdPeriod {
					t.Fatalf("action %d, tick of %v; want it held and ticks of %v", action, d.host.period, holdPeriod)
				}
				for _, chunk := range []string{tt.before, tt.during} {
					if chunk != "" && d.body(id, chunk, strings.HasSuffix(body, chunk)) != bodyHeld {
						t.Error("a body callback lets it go on")
					}
					d.tick(holdPeriod)
				}
				if d.going(id) || d.destination(id) != "" {
					t.Fatal("it goes on although nothing has changed")
				}
				d.freed(busy)
				d.tick(holdPeriod)
				if !d.going(id) || d.destination(id) != "10.0.0.1:80" || d.host.period != tickPeriod {
					t.Errorf("after the slot is free: goes on %v to %q, ticks of %v", d.going(id), d.destination(id), d.host.period)
				}
				if tt.during == "" && tt.before == "" && d.body(id, body, true) != types.ActionContinue {
					t.Error("its body is held after its release")
				}
				d.freed(id)
				d.want(map[string]int64{"placements_learned": 2, "flights_started": 2, "flights_ended": 2, "bypass_no_prompt": 0})
			})
		})
	}
}

func TestHeldUntilItsTimeIsOver(t *testing.T) {
	for name, asked := range map[string]bool{"asked": true, "not asked": false} {
		t.Run(name, func(t *testing.T) {
			config := oneSlot("")
			headers := willing("30")
			if !asked {
				config = oneSlot(`"default":{"algorithm":"wait-and-widen","max_queue_time_floor_ms":0,"max_queue_time_ceil_ms":0},`)
				headers = without(headers, "x-routing-method")
			}
			drive(t, config, func(t *testing.T, d *driver) {
				d.filled()
				id, action := d.stream(headers, false)
				if action != requestPaused {
					t.Fatal("it is not held")
				}
				for range 5 {
					d.tick(holdPeriod)
				}
				if d.going(id) || d.host.streams[id].replied != 0 {
					t.Error("it is decided before its time is over")
				}
				d.tick(holdPeriod)
				status, code, _ := d.reply(id)
				if asked && (status != 503 || code != "no_eligible_backend" || d.going(id)) {
					t.Errorf("status %d, code %q, goes on %v; want 503 no_eligible_backend", status, code, d.going(id))
				}
				if !asked && (status != 0 || !d.going(id) || d.destination(id) != "") {
					t.Errorf("status %d, goes on %v to %q; want it left to Envoy", status, d.going(id), d.destination(id))
				}
				d.finish(id)
			})
		})
	}
}

func TestAbortedWhileHeld(t *testing.T) {
	drive(t, oneSlot(""), func(t *testing.T, d *driver) {
		busy := d.filled()
		for range 5 {
			id, action := d.stream(willing("1000"), false)
			if action != requestPaused {
				t.Fatal("it is not held")
			}
			d.body(id, chatBody("ben", 1), false)
			d.finish(id)
		}
		d.freed(busy)
		d.tick(holdPeriod)
		if d.host.period != tickPeriod {
			t.Error("ticks stay fast with nobody held")
		}
		d.want(map[string]int64{"flights_started": 1, "flights_ended": 1, "placements_learned": 1})
	})
}

func TestHeldRequestsAreBounded(t *testing.T) {
	drive(t, oneSlot(`"max_waiting":2,`), func(t *testing.T, d *driver) {
		d.filled()
		var ids []uint32
		for range 2 {
			id, action := d.stream(willing("1000"), false)
			if action != requestPaused || d.host.streams[id].replied != 0 {
				t.Fatal("it is not held")
			}
			ids = append(ids, id)
		}
		id, _ := d.stream(willing("1000"), false)
		if status, _, _ := d.reply(id); status != 503 {
			t.Errorf("a third gets status %d, want 503 at once", status)
		}
		d.finish(ids[0])
		id, _ = d.stream(willing("1000"), false)
		if status, _, _ := d.reply(id); status != 0 {
			t.Error("the place of an aborted request stays taken")
		}
	})
}

func TestUrgentRequestsGoFirst(t *testing.T) {
	drive(t, oneSlot(""), func(t *testing.T, d *driver) {
		busy := d.filled()
		priorities := []string{"7", "3", "7", "0", "3"}
		want := []int{3, 1, 4, 0, 2}
		var ids []uint32
		for i, p := range priorities {
			id, _ := d.stream(append(willing("60000", "x-priority", p), [2]string{"content-length", "4000"}), false)
			d.body(id, chatBody("ben"+strconv.Itoa(i), 1), true)
			ids = append(ids, id)
		}
		var got []int
		for range priorities {
			d.freed(busy)
			d.tick(holdPeriod)
			gone := slices.IndexFunc(ids, func(id uint32) bool {
				return d.host.streams[id] != nil && d.going(id)
			})
			if gone < 0 {
				t.Fatalf("nobody goes on after %v", got)
			}
			got, busy = append(got, gone), ids[gone]
		}
		if !slices.Equal(got, want) {
			t.Errorf("requests of priorities %v go in the order %v, want %v", priorities, got, want)
		}
	})
}

// TestSlowClientIsNotRushed: while ticks are fast the ticks without a byte are
// counted as before.
func TestSlowClientIsNotRushed(t *testing.T) {
	drive(t, oneSlot(`"default":"prefix-aware",`), func(t *testing.T, d *driver) {
		d.filled()
		d.stream(willing("60000"), false)
		slow, _ := d.stream(chatHeaders(-1), false)
		d.body(slow, `{"messages":[`, false)
		for range 20 {
			d.tick(holdPeriod)
		}
		if d.going(slow) {
			t.Error("a slow client's request is decided after 100 ms")
		}
		for range 20 {
			d.tick(holdPeriod)
		}
		if !d.going(slow) {
			t.Error("a slow client's request is not decided after 200 ms")
		}
	})
}

// TestConfigurationChangesWhileHeld: what is held keeps its definition and goes
// on under it; what comes later has the other one.
func TestConfigurationChangesWhileHeld(t *testing.T) {
	drive(t, oneSlot(""), func(t *testing.T, d *driver) {
		busy := d.filled()
		id, _ := d.stream(willing("60000"), false)
		d.host.config = strings.Replace(d.host.config, `"random":"random"`, `"round-robin":"round-robin"`, 1)
		d.host.config = strings.Replace(d.host.config, `"max_queue_time_floor_ms":0,"max_queue_time_ceil_ms":0`, `"n":7`, 1)
		const second = root + 1
		d.host.context = second
		if !d.vm.configure(second) {
			t.Fatalf("refused: %q", d.host.logs)
		}
		later, _ := d.streamOf(second, willing("60000"), false)
		if d.destination(later) == "" {
			t.Error("a request under the second configuration is held by the first one's limit")
		}
		if other, _ := d.streamOf(second, asking("random"), false); d.host.streams[other].replied != 400 {
			t.Error("the second configuration has the first one's algorithms")
		}
		d.tick(holdPeriod)
		if d.going(id) {
			t.Error("the held request goes by the second configuration")
		}
		d.freed(later)
		d.freed(busy)
		d.tick(holdPeriod)
		if !d.going(id) || d.destination(id) == "" {
			t.Error("the held request does not go on")
		}
		d.freed(id)
		d.vm.done(root)
	})
}

func TestHeldWithoutABody(t *testing.T) {
	get := append(without(willing("1000"), ":method"), [2]string{":method", "GET"})
	drive(t, oneSlot(""), func(t *testing.T, d *driver) {
		busy := d.filled()
		id, action := d.stream(get, true)
		if action != requestPaused {
			t.Fatal("a GET is not held")
		}
		upgrade, action := d.stream(append(get, [2]string{"upgrade", "websocket"}), false)
		if action == requestPaused && d.host.streams[upgrade].replied == 0 {
			t.Error("an upgrade is held")
		}
		d.freed(busy)
		d.tick(holdPeriod)
		if !d.going(id) || d.destination(id) == "" {
			t.Error("the GET does not go on")
		}
	})
}

// TestQueueLimitGrowsWhileHeld: each try reckons with the time since the
// request came.
func TestQueueLimitGrowsWhileHeld(t *testing.T) {
	config := strings.Replace(oneSlot(""), `"max_queue_time_ceil_ms":0`, `"max_queue_time_ceil_ms":1000000`, 1)
	drive(t, config, func(t *testing.T, d *driver) {
		d.filled()
		id, action := d.stream(willing("60000", "x-request-slo-ms", "10000"), false)
		if action != requestPaused {
			t.Fatal("it is not held by the floor")
		}
		// The queue is some 1,500 bytes, 375 tokens, 37 s: open after 370 ms.
		for range 20 {
			d.tick(holdPeriod)
		}
		if d.going(id) {
			t.Error("it goes on after 100 ms")
		}
		for range 80 {
			d.tick(holdPeriod)
		}
		if !d.going(id) {
			t.Error("it is still held after 500 ms")
		}
		d.tick(tickPeriod)
		if n := d.host.metric("kvsteer_routing_wait_retries_total"); n < 50 || n > 100 {
			t.Errorf("%d retries in 370 ms", n)
		}
	})
}

func TestFilterEndsBeforeItsRequests(t *testing.T) {
	drive(t, oneSlot(""), func(t *testing.T, d *driver) {
		d.filled()
		id, _ := d.stream(willing("1000"), false)
		d.vm.done(root)
		d.finish(id)
		for _, line := range d.host.logs {
			if strings.Contains(line, "panic") {
				t.Error(line)
			}
		}
	})
}

// TestRoutedRequestsLeaveNothing plays requests that ask for anything and end
// anywhere, and looks for what is left of them.
func TestRoutedRequestsLeaveNothing(t *testing.T) {
	h := newFakeHost(oneSlot(`"max_waiting":5,`))
	n := newNative(h)
	d := start(t, h, n)
	f := n.roots[root].(*filter)
	random := rand.New(rand.NewPCG(3, 4))
	headers := [][][2]string{
		chatHeaders(-1), willing("40"), willing("0"), willing("60000", "x-priority", "3"), asking("sticky"), asking("random"),
		append(without(willing("40"), ":method"), [2]string{":method", "GET"}), append(willing("40"), [2]string{"upgrade", "x"}),
		append(chatHeaders(-1), [2]string{"x-max-wait-ms", "20"}, [2]string{"x-input-tokens", "x"}),
	}
	var live []uint32
	for range 3000 {
		id, _ := d.stream(headers[random.IntN(len(headers))], false)
		live = append(live, id)
		at := random.IntN(len(live))
		switch body := chatBody("u"+strconv.Itoa(random.IntN(9)), 1); random.IntN(6) {
		case 0:
			d.body(live[at], body[:random.IntN(len(body))], false)
		case 1:
			d.body(live[at], body, true)
		case 2:
			if d.destination(live[at]) != "" {
				d.answer(live[at], "10.0.0.1:80", "{}")
			}
		case 3, 4:
			d.finish(live[at])
			live = slices.Delete(live, at, at+1)
		}
		if random.IntN(2) == 0 {
			d.tick(holdPeriod)
		}
		if f.routed.held != len(f.router.held) || f.routed.held > 5 {
			t.Fatalf("%d requests are held, %d counted, at most 5 may be", len(f.router.held), f.routed.held)
		}
	}
	for _, id := range live {
		d.finish(id)
	}
	d.tick(tickPeriod)
	if len(f.router.held) != 0 || f.routed.held != 0 || f.readers.lent != 0 || len(f.waiting) != 0 || f.fast {
		t.Errorf("left: %d held, %d readers, %d waiting, fast ticks %v", f.routed.held, f.readers.lent, len(f.waiting), f.fast)
	}
	seen := map[*route]bool{}
	for _, r := range f.router.spare {
		if seen[r] {
			t.Fatal("a route was given back twice")
		}
		seen[r] = true
	}
	if e := f.pools[0].View().Endpoints()[0]; e.InFlight() != 0 || e.Queued() != 0 {
		t.Errorf("%d flights with %d tokens are left", e.InFlight(), e.Queued())
	}
	d.want(map[string]int64{"flights_started": h.metric("kvsteer_flights_ended"), "panics": 0})
}
