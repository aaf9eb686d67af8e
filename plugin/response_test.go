// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
)

// want checks counters after the next tick.
func (d *driver) want(counters map[string]int64) {
	d.t.Helper()
	d.tick(tickPeriod)
	for name, want := range counters {
		if got := d.host.metric("kvsteer_" + name); got != want {
			d.t.Errorf("kvsteer_%s = %d, want %d", name, got, want)
		}
	}
}

// usageOf is a JSON answer that tells these tokens.
func usageOf(prompt, cached int) served {
	return served{
		lines: [][2]string{{"content-type", "application/json"}},
		chunks: []string{
			`{"id":"chatcmpl-1","choices":[{"message":{"content":"a"}}],`,
			fmt.Sprintf(`"usage":{"prompt_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`, prompt, prompt+1, cached),
			"",
		},
	}
}

func from(e string, a served) served { a.from = e; return a }

func TestAnswerTellsWhereThePlacementBelongs(t *testing.T) {
	flags := func(bits uint64) string { return string(binary.LittleEndian.AppendUint64(nil, bits)) }
	tests := []struct {
		name   string
		answer func(d *driver, id uint32, list []string)
		stays  bool // a second turn finds the prompt at the first choice
		counts map[string]int64
	}{
		{"served", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], chunks: []string{"{}"}})
		}, true, map[string]int64{"placements_withdrawn": 0, "endpoint_failures": 0, "served_by_other": 0}},
		{"served by the second", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[1], chunks: []string{"{}"}})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 1, "served_by_other": 1}},
		{"served by the third", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[2], chunks: []string{"{}"}})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 2, "served_by_other": 1}},
		{"served by a stranger", func(d *driver, id uint32, _ []string) {
			d.respond(id, served{from: "10.9.9.9:80", chunks: []string{"{}"}})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 0, "served_by_other": 0, "served_by_unlisted": 1}},
		{"server error", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], status: "500"})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 1}},
		{"no first token in time", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], status: "504"})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 1}},
		{"refused by the engine", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], status: "400"})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 0}},
		{"refused by Envoy", func(d *driver, id uint32, _ []string) {
			d.respond(id, served{status: "503"})
		}, false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 0}},
		{"client leaves before an answer", func(*driver, uint32, []string) {},
			false, map[string]int64{"placements_withdrawn": 1, "endpoint_failures": 0}},
		{"client leaves during the answer", func(d *driver, id uint32, list []string) {
			d.host.streams[id].attributes["response\x00flags"] = flags(0)
			d.respond(id, served{from: list[0], chunks: []string{"{"}, open: true})
		}, true, map[string]int64{"placements_withdrawn": 0, "endpoint_failures": 0}},
		{"engine leaves during the answer", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], chunks: []string{"{"}, open: true})
			d.host.streams[id].attributes["response\x00flags"] = flags(upstreamClosed)
		}, true, map[string]int64{"placements_withdrawn": 0, "endpoint_failures": 1}},
		{"engine leaves in the middle of a chunk", func(d *driver, id uint32, list []string) {
			d.respond(id, served{from: list[0], chunks: []string{"{"}, open: true})
			d.host.streams[id].attributes["response\x00flags"] = flags(upstreamProtocol)
		}, true, map[string]int64{"placements_withdrawn": 0, "endpoint_failures": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, withPools(`"decision_header":true`), func(t *testing.T, d *driver) {
				body := chatBody("ann", 20)
				id, _ := d.send(body)
				list := strings.Split(d.destination(id), ",")
				tt.answer(d, id, list)
				d.finish(id)
				d.want(tt.counts)
				d.want(map[string]int64{"flights_started": d.host.metric("kvsteer_flights_ended")})

				was := d.host.metric("kvsteer_matched_bytes")
				_, to := d.send(body)
				d.tick(tickPeriod)
				matched := d.host.metric("kvsteer_matched_bytes") - was
				if stays := to == list[0] && matched > 10_000; tt.counts["endpoint_failures"] == 0 && stays != tt.stays {
					t.Errorf("the prompt again goes to %s (before to %s) with %d bytes matched", to, list[0], matched)
				}
				if !tt.stays && tt.counts["served_by_other"] == 0 && matched > 0 {
					t.Errorf("%d bytes match although no engine computed the prompt", matched)
				}
				if tt.counts["served_by_other"] == 1 && (to == list[0] || matched < 10_000) {
					t.Errorf("the prompt again goes to %s with %d bytes matched, another served it", to, matched)
				}
			})
		})
	}
}

// TestOnlyAnEnginesAnswerIsServed: Envoy names the host of its last attempt also
// where that has not answered.
func TestOnlyAnEnginesAnswerIsServed(t *testing.T) {
	tests := []struct {
		name, status, details string
		want                  int64
	}{
		{"answer", "200", "via_upstream", 1},
		{"error of the engine", "500", "via_upstream", 1},
		{"error of Envoy", "503", "upstream_reset_before_response_started{connection_failure}", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, fourEndpoints, func(t *testing.T, d *driver) {
				id, _ := d.send(chatBody("ann", 1))
				last := strings.Split(d.destination(id), ",")[2]
				d.respond(id, served{from: last, status: tt.status, details: tt.details})
				d.finish(id)
				failed := int64(2) // those before it
				if tt.status != "200" {
					failed++
				}
				d.want(map[string]int64{"served_by_other": tt.want, "endpoint_failures": failed})
			})
		})
	}
}

// TestDecisionHeaderIsOurs: an engine's own doesn't pass where answers carry
// one, and costs nothing where they don't.
func TestDecisionHeaderIsOurs(t *testing.T) {
	for config, stays := range map[string]bool{withPools(`"decision_header":true`): false, fourEndpoints: true} {
		drive(t, config, func(t *testing.T, d *driver) {
			id, _ := d.stream([][2]string{{":method", "GET"}, {":path", "/v1/models"}}, true)
			d.host.crossings()
			d.respond(id, served{lines: [][2]string{{decisionHeader, "forged"}}})
			calls := d.host.crossings()
			if _, there := headerMapOf(d.host.streams[id].response).get(decisionHeader); there != stays {
				t.Errorf("%s: the engine's header passes: %v, want %v", config, there, stays)
			}
			if want := map[bool]int{true: 0, false: 1}[stays]; calls != want {
				t.Errorf("%s: %d host calls, want %d", config, calls, want)
			}
		})
	}
}

func TestAnswerBeforeTheBodyHasEnded(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 400)
		id, _ := d.stream(chatHeaders(-1), false)
		d.body(id, body[:300<<10], false) // the wait is over
		d.respond(id, served{from: first(d.destination(id)), status: "413"})
		d.body(id, body[300<<10:], true)
		d.finish(id)
		d.want(map[string]int64{"placements_learned": 0, "placements_withdrawn": 0, "flights_ended": 1})
	})
}

func TestFailingEndpointGetsTrialsOnly(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		const bad = "10.0.0.2:80"
		serve := func(user int) bool {
			id, to := d.send(chatBody(fmt.Sprint("user", user), 1))
			a := served{from: to, chunks: []string{"{}"}}
			if to == bad {
				a.status = "503"
			}
			d.respond(id, a)
			d.finish(id)
			d.tick(tickPeriod)
			return to == bad
		}
		hits := 0
		for i := range 1200 { // a minute
			if serve(i) {
				hits++
			}
		}
		// Five open the circuit; then a trial after each back-off: 1, 2, 4, 8, 16, 30 s.
		if hits == 0 || hits > 5+6 {
			t.Errorf("a failing endpoint got %d of 1,200 requests", hits)
		}
	})
}

// TestEmptyCacheIsNoticed: an engine that starts anew without failing anything
// tells by what it has cached.
func TestEmptyCacheIsNoticed(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		at := map[string]string{}
		serve := func(user string, turns int, cached func(to string) int) string {
			body := chatBody(user, turns)
			id, to := d.send(body)
			d.respond(id, from(to, usageOf(len(body)/4, cached(to))))
			d.finish(id)
			d.tick(2 * time.Second)
			return to
		}
		warm := func(string) int { return 3000 }
		for i := range 24 {
			user := fmt.Sprint("user", i)
			at[user] = serve(user, 10, warm)
		}
		restarted, n := at["user0"], 0
		for user, to := range at {
			if to == restarted && n < coldLimit {
				n++
				delete(at, user)
				serve(user, 11, func(to string) int {
					if to == restarted {
						return 0
					}
					return 3000
				})
			}
		}
		if n < coldLimit {
			t.Fatalf("only %d conversations live on %s", n, restarted)
		}
		d.want(map[string]int64{"endpoint_restarts": 1})
		for user, to := range at {
			was := d.host.metric("kvsteer_matched_bytes")
			serve(user, 11, warm)
			matched := d.host.metric("kvsteer_matched_bytes") - was
			if to == restarted && matched > 1000 || to != restarted && matched < 10_000 {
				t.Errorf("%s, held by %s, matches %d bytes; %s has restarted", user, to, matched, restarted)
			}
		}
	})
}

func TestEnginesThatReportNoCachedTokensAreNotCold(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		for turns := 2; turns < 10; turns++ {
			body := chatBody("ann", turns)
			id, to := d.send(body)
			d.respond(id, from(to, usageOf(len(body)/4, 0)))
			d.finish(id)
			d.tick(2 * time.Second)
		}
		d.want(map[string]int64{"endpoint_restarts": 0, "usages_read": 8})
	})
}

func TestUsageOfStreams(t *testing.T) {
	event := func(usage string) string {
		return `data: {"id":"c","choices":[],"usage":` + usage + "}\n\n"
	}
	sse := func(chunks ...string) served {
		return served{lines: [][2]string{{"content-type", "text/event-stream; charset=utf-8"}}, chunks: chunks}
	}
	tests := []struct {
		name   string
		answer served
		read   int64
	}{
		{"in the last event", sse(event("null"), event("null"), event(`{"prompt_tokens":9}`), "data: [DONE]\n\n"), 1},
		{"cut in two", sse(event("null"), event(`{"prompt_tokens":9}`)[:40], event(`{"prompt_tokens":9}`)[40:]), 1},
		{"with the end of the answer", sse(event("null") + event(`{"prompt_tokens":9}`) + "data: [DONE]\n\n"), 1},
		{"in the first event", sse(`data: {"message":{"usage":{"input_tokens":5,"cache_read_input_tokens":4}}}`+"\n\n", event("null")), 1},
		{"not told", sse(event("null"), "data: [DONE]\n\n"), 0},
		{"said by the model", sse(`data: {"content":"\"prompt_tokens\":9"}`+"\n\n", "data: [DONE]\n\n"), 0},
		{"compressed", served{lines: [][2]string{{"content-type", "application/json"}, {"content-encoding", "gzip"}}, chunks: []string{`"prompt_tokens":9`}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, fourEndpoints, func(t *testing.T, d *driver) {
				id, to := d.send(chatBody("ann", 2))
				d.respond(id, from(to, tt.answer))
				d.finish(id)
				d.want(map[string]int64{"usages_read": tt.read})
			})
		})
	}
}

// TestHostCallsOfAnswers holds the budget under load: two calls into Envoy for
// an answer on average.
func TestHostCallsOfAnswers(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		const n = 200
		calls := 0
		for i := range n {
			id, to := d.send(chatBody(fmt.Sprint("user", i), 2))
			d.host.clock += 5 * time.Millisecond
			d.host.crossings()
			d.respond(id, from(to, usageOf(1000, 0)))
			d.finish(id)
			calls += d.host.crossings()
			if i%10 == 0 {
				d.tick(0)
			}
		}
		if calls > 2*n {
			t.Errorf("%d host calls for %d answers", calls, n)
		}
	})
}

// TestStreamsThatTellNothingAreLeftAlone: reading a stream costs a call an event.
func TestStreamsThatTellNothingAreLeftAlone(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		silent := served{lines: [][2]string{{"content-type", "text/event-stream"}}}
		for range 50 {
			silent.chunks = append(silent.chunks, "data: {}\n\n")
		}
		const n = 100
		d.host.crossings()
		calls := 0
		for i := range n {
			id, to := d.send(chatBody(fmt.Sprint("user", i), 2))
			d.host.crossings()
			d.respond(id, from(to, silent))
			calls += d.host.crossings()
			d.finish(id)
			d.tick(2 * time.Second)
		}
		if calls > 8*n {
			t.Errorf("%d host calls for %d streams of 50 events", calls, n)
		}
	})
}

func TestLoadReportsFeedTheView(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		d.tick(time.Second)
		id, busy := d.send(chatBody("ann", 2))
		d.respond(id, served{from: busy, chunks: []string{"{}"}, lines: [][2]string{
			{"endpoint-load-metrics", "TEXT named_metrics.kv_cache_usage_perc=0.99, named_metrics.num_requests_waiting=400"},
		}})
		d.finish(id)
		d.want(map[string]int64{"load_reports": 1, "load_report_faults": 0})
		if _, to := d.send(chatBody("ann", 3)); to == busy {
			t.Errorf("the next turn goes to %s, whose KV cache is full by its own word", to)
		}
		id, to := d.send(chatBody("ben", 2))
		d.respond(id, served{from: to, chunks: []string{"{}"}, lines: [][2]string{{"endpoint-load-metrics", "TEXT x"}}})
		d.finish(id)
		d.want(map[string]int64{"load_reports": 1, "load_report_faults": 1})
	})
}

func TestStoredAnswersAreFollowed(t *testing.T) {
	request := func(previous string) string {
		return fmt.Sprintf(`{"model":"m","input":"and then? %s",%s"store":true}`, strings.Repeat("x", 3000), previous)
	}
	headers := func(n int) [][2]string {
		h := chatHeaders(n)
		h[1][1] = "/v1/responses"
		return h
	}
	driveWorkers(t, fourEndpoints, 2, func(t *testing.T, w workers) {
		w.turn(0, chatBody("ann", 1))
		w.turn(1, chatBody("ann", 1))
		for i := range 20 {
			key := fmt.Sprintf(`"previous_response_id":"resp_%d",`, i)
			d, other := w[i%2], w[(i+1)%2]
			body := request("")
			id, _ := d.stream(headers(len(body)), false)
			d.body(id, body, true)
			keeper := "10.0.0.3:80" // whatever was chosen
			answer := fmt.Sprintf(`{"id":"resp_%d","object":"response"`, i)
			if i%3 == 0 {
				answer = fmt.Sprintf("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\": \"resp_%d\"", i)
			}
			d.respond(id, served{from: keeper, chunks: []string{answer, "}"}})
			d.finish(id)
			w.tick(tickPeriod)
			w.tick(tickPeriod)
			body = request(key)
			id, _ = other.stream(headers(len(body)), false)
			other.body(id, body[:3050], false)
			other.body(id, body[3050:], true)
			if list := strings.Split(other.destination(id), ","); list[0] != keeper || len(list) != 3 {
				t.Errorf("the answer resp_%d is kept by %s, what follows goes to %q", i, keeper, list)
			}
			other.respond(id, served{from: keeper, chunks: []string{"{}"}})
			other.finish(id)
			w.tick(time.Second)
		}
		if n := w.metric("kvsteer_answers_followed"); n != 20 {
			t.Errorf("kvsteer_answers_followed = %d, want 20", n)
		}
	})
}
