// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// turn sends a chat to one worker, lets it be answered and all tick.
func (w workers) turn(at int, body string) string {
	d := w[at%len(w)]
	id, to := d.send(body)
	w.tick(tickPeriod)
	d.answer(id, to, `{}`)
	d.finish(id)
	w.tick(time.Second)
	return to
}

// replay plays conversations of some turns, each turn on the next worker, and
// returns the share of prompt bytes that placements matched.
func (w workers) replay(users, turns int) float64 {
	at := 0
	for turn := 1; turn <= turns; turn++ {
		for user := range users {
			w.turn(at, chatBody(fmt.Sprint("user", user), turn))
			at += 1 + user%3
		}
	}
	w.tick(time.Second)
	return float64(w.metric("kvsteer_matched_bytes")) / float64(w.metric("kvsteer_prompt_bytes"))
}

func TestConversationStaysAcrossWorkers(t *testing.T) {
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		ends := map[string]bool{}
		for _, user := range []string{"ann", "ben", "cleo", "dora", "emil", "fay", "gus", "hal"} {
			want := w.turn(0, chatBody(user, 1))
			for turns := 2; turns < 6; turns++ {
				if got := w.turn(turns, chatBody(user, turns)); got != want {
					t.Errorf("%s's turn %d went to %s, the ones before to %s", user, turns, got, want)
				}
			}
			ends[want] = true
		}
		if len(ends) < 2 {
			t.Error("eight conversations on an idle fleet share one endpoint")
		}
	})
}

// TestWorkersHitLikeOne holds the aim of all this: 95 % of one worker's hits.
func TestWorkersHitLikeOne(t *testing.T) {
	const users, turns = 12, 5
	var alone float64
	driveWorkers(t, fourEndpoints, 1, func(_ *testing.T, w workers) { alone = w.replay(users, turns) })
	if alone < 0.5 {
		t.Fatalf("one worker matches %.3f of the prompts: the workload shows nothing", alone)
	}
	for _, n := range []int{2, 4} {
		driveWorkers(t, fourEndpoints, n, func(t *testing.T, w workers) {
			if got := w.replay(users, turns); got < 0.95*alone {
				t.Errorf("%d workers match %.3f of the prompts, one matches %.3f", n, got, alone)
			}
			if n := w.metric("kvsteer_shared_gaps") + w.metric("kvsteer_shared_placements_dropped"); n != 0 {
				t.Errorf("%d gaps and dropped placements", n)
			}
		})
	}
}

// loadThree queues long prompts until three endpoints have one.
func (d *driver) loadThree() (busy map[string]bool) {
	d.t.Helper()
	busy = map[string]bool{}
	for i := 0; len(busy) < 3; i++ {
		if i == 20 {
			d.t.Fatal("twenty long prompts don't spread over three endpoints")
		}
		_, to := d.send(chatBody(fmt.Sprint("long", i), 200))
		busy[to] = true
	}
	return busy
}

func TestWorkersSeeEachOthersQueues(t *testing.T) {
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		w.turn(1, chatBody("bob", 1)) // both serve
		busy := w[0].loadThree()
		w.tick(tickPeriod)
		for i := range 4 {
			id, to := w[1].send(chatBody(fmt.Sprint("short", i), 1))
			if busy[to] {
				t.Errorf("the second worker sent to %s, where the first has long prompts queued", to)
			}
			w[1].finish(id)
		}
	})
}

func TestSilentWorkerIsForgotten(t *testing.T) {
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		w.turn(1, chatBody("bob", 1))
		busy := w[0].loadThree()
		w.tick(tickPeriod)
		alive := workers{w[1]}
		probe := func() (hits int) {
			for i := range 24 {
				id, to := w[1].send(fmt.Sprintf(`{"messages":[{"role":"user","content":"%d asks"}]}`, i))
				if busy[to] {
					hits++
				}
				w[1].finish(id)
			}
			return hits
		}
		if n := probe(); n != 0 {
			t.Fatalf("%d of 24 prompts went to loaded endpoints", n)
		}
		for range 80 {
			alive.tick(tickPeriod)
		}
		if probe() == 0 {
			t.Error("what a dead worker had queued still counts after 4 s")
		}
	})
}

// slots counts the heads in shared data.
func slots(d *driver) (n int) {
	for key := range d.host.shared {
		if rest, ok := strings.CutPrefix(key, "kvsteer/x1/"); ok && !strings.ContainsAny(rest, "/h") {
			n++
		}
	}
	return n
}

func TestOnlyVMsThatServeTakeASlot(t *testing.T) {
	driveWorkers(t, fourEndpoints, 3, func(t *testing.T, w workers) {
		w.tick(time.Second)
		w.tick(time.Second)
		if n := slots(w[0]); n != 0 {
			t.Errorf("%d slots are taken before the first request", n)
		}
		w.turn(0, chatBody("ann", 1))
		w.turn(1, chatBody("ann", 1))
		if n := slots(w[0]); n != 2 {
			t.Errorf("%d slots are taken, want 2: the third VM is a canary", n)
		}
	})
}

func TestSlotsOfDeadVMsAreReused(t *testing.T) {
	driveWorkers(t, fourEndpoints, 1, func(t *testing.T, w workers) {
		d := w[0]
		for range 5 { // each one traps, say, and Envoy makes the next
			alone := workers{d}
			alone.turn(0, chatBody("ann", 1))
			next := d.again()
			next.host.clock = d.host.clock + goneAfter
			d = next
		}
		(workers{d}).turn(0, chatBody("ann", 1))
		if n := slots(d); n != 1 {
			t.Errorf("%d slots after 5 reloads, want 1", n)
		}
	})
}

func TestLostSegmentsAreCounted(t *testing.T) {
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		w.turn(0, chatBody("ann", 1))
		w.turn(1, chatBody("ann", 1))
		before := w[1].host.metric("kvsteer_shared_gaps")
		busy := workers{w[0]}
		for i := range ring + 4 {
			w[0].send(chatBody(fmt.Sprint("user", i), 1))
			busy.tick(tickPeriod)
		}
		w[1].tick(w[0].host.clock - w[1].host.clock)
		if n := w[1].host.metric("kvsteer_shared_gaps") - before; n != 4 {
			t.Errorf("%d gaps, want 4", n)
		}
	})
}

func TestHandOverToANewVM(t *testing.T) {
	for name, leave := range map[string]bool{"asked for": false, "left behind": true} {
		t.Run(name, func(t *testing.T) {
			driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
				ends := map[string]string{}
				for i := range 12 {
					user := fmt.Sprint("user", i)
					ends[user] = w.turn(i, chatBody(user, 4))
				}
				for range 2 * ring { // the ring forgets, the table does not
					w.turn(0, chatBody("bob", 1))
					w.turn(1, chatBody("bob", 1))
				}
				next := w[0].again()
				next.host.clock = w[0].host.clock
				all := append(workers{next}, w...)
				if leave {
					for _, d := range w {
						d.vm.done(root)
					}
					all = workers{next}
				}
				next.send(chatBody("eve", 1))
				for range 12 {
					all.tick(tickPeriod)
				}
				was := next.host.metric("kvsteer_matched_bytes")
				for user, want := range ends {
					if _, to := next.send(chatBody(user, 5)); to != want {
						t.Errorf("%s goes to %s after the hand-over, before to %s", user, to, want)
					}
				}
				next.tick(tickPeriod)
				if n := next.host.metric("kvsteer_matched_bytes") - was; n < 60_000 {
					t.Errorf("the new VM matches %d bytes of 12 conversations of 4 turns", n)
				}
				if n := next.host.metric("kvsteer_handovers_read"); n != 1 {
					t.Errorf("kvsteer_handovers_read = %d, want 1", n)
				}
				if n := next.host.metric("kvsteer_handover_placements"); n == 0 {
					t.Error("kvsteer_handover_placements = 0")
				}
				if n := next.host.metric("kvsteer_shared_placements_received"); leave != (n == 0) {
					t.Errorf("kvsteer_shared_placements_received = %d, with others there: %v", n, !leave)
				}
			})
		})
	}
}

func TestOwnersTravel(t *testing.T) {
	config := strings.Replace(fourEndpoints, `"cluster"`, `"algorithm":"topology","cluster"`, 1)
	driveWorkers(t, config, 2, func(t *testing.T, w workers) {
		w.turn(1, chatBody("bob", 1))
		// Owners assigned under load stand elsewhere than an idle fleet's would.
		var held []uint32
		owner := map[string]string{}
		for i := range 12 {
			user := fmt.Sprint("user", i)
			id, to := w[0].send(chatBody(user, 20))
			held, owner[user] = append(held, id), to
		}
		w.tick(tickPeriod)
		for _, id := range held {
			w[0].answer(id, first(w[0].destination(id)), "{}")
			w[0].finish(id)
		}
		w.tick(tickPeriod)
		for user, want := range owner {
			id, to := w[1].send(chatBody(user, 21))
			if to != want {
				t.Errorf("%s is %s's, but the second worker sent to %s", user, want, to)
			}
			w[1].finish(id)
		}
	})
}

func TestWithdrawnPlacementsTravel(t *testing.T) {
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		w.turn(0, chatBody("bob", 1))
		w.turn(1, chatBody("bob", 1))
		body := chatBody("ann", 20)
		id, to := w[0].send(body)
		w.tick(tickPeriod)
		w[0].respond(id, served{from: to, status: "400"})
		w[0].finish(id)
		w.tick(tickPeriod)
		w.tick(tickPeriod)
		was := w[1].host.metric("kvsteer_matched_bytes")
		w[1].send(body)
		w[1].tick(tickPeriod)
		if n := w[1].host.metric("kvsteer_matched_bytes") - was; n > 1000 {
			t.Errorf("the second worker matches %d bytes of a prompt that was refused", n)
		}
	})
}

func TestStrangersInSharedData(t *testing.T) {
	for name, value := range map[string]string{
		"empty":           "",
		"another version": "\x02" + strings.Repeat("\x00", headSize-1),
		"cut short":       "\x01\x00\x00",
		"not whole sums":  "\x01" + strings.Repeat("\x00", headSize),
	} {
		t.Run(name, func(t *testing.T) {
			driveWorkers(t, fourEndpoints, 1, func(t *testing.T, w workers) {
				w[0].host.shared["kvsteer/x1/0"] = sharedValue{[]byte(value), 1}
				w[0].host.shared["kvsteer/x2/0"] = sharedValue{[]byte("the future"), 1}
				w.turn(0, chatBody("ann", 1))
				w.turn(0, chatBody("ann", 2))
				if w.metric("kvsteer_panics") != 0 || w.metric("kvsteer_shared_faults") == 0 {
					t.Errorf("panics %d, faults %d; want none, some", w.metric("kvsteer_panics"), w.metric("kvsteer_shared_faults"))
				}
			})
		})
	}
}

func TestScopesDoNotMeet(t *testing.T) {
	driveWorkers(t, fourEndpoints, 1, func(t *testing.T, w workers) {
		w.turn(0, chatBody("ann", 1))
		for key := range w[0].host.shared {
			if !strings.HasPrefix(key, "kvsteer/") {
				t.Errorf("key %q is outside of the scope", key)
			}
		}
	})
}

func TestRefusedConfigurationKeepsTheSlot(t *testing.T) {
	driveWorkers(t, fourEndpoints, 1, func(t *testing.T, w workers) {
		d := w[0]
		w.turn(0, chatBody("ann", 1))
		d.host.config = `{"pools":3}`
		if d.vm.start(root + 100) {
			t.Fatal("a faulty configuration was accepted")
		}
		d.vm.done(root + 100)
		if h, ok := parseHead(d.host.shared["kvsteer/x1/0"].value); !ok || h.wall == 0 {
			t.Error("the VM has given its slot up, though another configuration still runs in it")
		}
		d.vm.done(root)
		if h, ok := parseHead(d.host.shared["kvsteer/x1/0"].value); !ok || h.wall != 0 {
			t.Error("a VM that has ended still holds its slot")
		}
	})
}
