// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

const fourEndpoints = `{"pools":[{"cluster":"engines","endpoints":["10.0.0.1:80","10.0.0.2:80","10.0.0.3:80","10.0.0.4:80"]}]}`

func withPools(rest string) string { return strings.TrimSuffix(fourEndpoints, "}") + "," + rest + "}" }

func chatHeaders(length int) [][2]string {
	h := [][2]string{
		{":method", "POST"}, {":path", "/v1/chat/completions"}, {":authority", "gateway"},
		{"content-type", "application/json"},
	}
	if length >= 0 {
		h = append(h, [2]string{"content-length", strconv.Itoa(length)})
	}
	return h
}

// chatBody is a chat of n long turns of the user with this name.
func chatBody(user string, turns int) string {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"system","content":"You are helpful."}`)
	for i := range turns {
		fmt.Fprintf(&b, `,{"role":"user","content":"%s asks %d: %s"},{"role":"assistant","content":"%s"}`,
			user, i, strings.Repeat("why is that so? ", 60), strings.Repeat("because of this. ", 30))
	}
	b.WriteString(`,{"role":"user","content":"go on"}]}`)
	return b.String()
}

func TestConversationStaysWithItsEndpoint(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		ends := map[string]bool{}
		for _, user := range []string{"ann", "ben", "cleo", "dora", "emil", "fay", "gus", "hal"} {
			want := first(d.chat(chatBody(user, 1)))
			for turns := 2; turns < 5; turns++ {
				if got := first(d.chat(chatBody(user, turns))); got != want {
					t.Errorf("%s's turn %d went to %s, the ones before to %s", user, turns, got, want)
				}
			}
			ends[want] = true
		}
		if len(ends) < 2 {
			t.Errorf("eight conversations on an idle fleet share %d endpoint", len(ends))
		}
	})
}

func TestDestinationListsThreeEndpoints(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		list := strings.Split(d.chat(chatBody("ann", 1)), ",")
		if len(list) != 3 || list[0] == list[1] || list[1] == list[2] || list[0] == list[2] {
			t.Errorf("destination = %q, want three different endpoints", list)
		}
	})
}

func TestBypass(t *testing.T) {
	with := func(name, value string) [][2]string { return append(chatHeaders(10), [2]string{name, value}) }
	replaced := func(name, value string) [][2]string {
		return append(without(chatHeaders(10), name), [2]string{name, value})
	}
	tests := []struct {
		name    string
		headers [][2]string
		end     bool
		metric  string
	}{
		{"GET", replaced(":method", "GET"), true, "method"},
		{"HEAD", replaced(":method", "HEAD"), true, "method"},
		{"CONNECT", replaced(":method", "CONNECT"), false, "upgrade"},
		{"websocket upgrade", with("upgrade", "websocket"), false, "upgrade"},
		{"expect", with("expect", "100-continue"), false, "upgrade"},
		{"grpc", replaced("content-type", "application/grpc+proto"), false, "grpc"},
		{"gzip", with("content-encoding", "gzip"), false, "content_encoding"},
		{"multipart", replaced("content-type", "multipart/form-data; boundary=x"), false, "content_type"},
		{"other path", replaced(":path", "/v1/models"), false, "path"},
		{"headers that end the request", chatHeaders(-1), true, "no_body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, fourEndpoints, func(t *testing.T, d *driver) {
				forged := append(tt.headers, [2]string{destinationHeader, "6.6.6.6:6"}, [2]string{destinationHeader, "7.7.7.7:7"})
				id, action := d.stream(forged, tt.end)
				if action != types.ActionContinue {
					t.Errorf("action = %d, want it to go on", action)
				}
				if to := d.destination(id); to != "" {
					t.Errorf("a forged destination %s got through", to)
				}
				d.finish(id)
				d.tick(tickPeriod)
				if n := d.host.metric("kvsteer_bypass_" + tt.metric); n != 1 {
					t.Errorf("kvsteer_bypass_%s = %d, want 1", tt.metric, n)
				}
			})
		})
	}
}

func TestBodyThatIsNoPromptGoesOn(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":   `hello`,
		"truncated":  `{"model":"m","messages":[{"role":"us`,
		"no prompt":  `{"model":"m"}`,
		"empty body": ``,
	} {
		t.Run(name, func(t *testing.T) {
			drive(t, fourEndpoints, func(t *testing.T, d *driver) {
				id, _ := d.stream(append(chatHeaders(len(body)), [2]string{destinationHeader, "6.6.6.6:6"}), false)
				if action := d.body(id, body, true); action != types.ActionContinue {
					t.Errorf("action = %d, want it to go on", action)
				}
				if to := d.destination(id); to != "" {
					t.Errorf("destination = %q, want none", to)
				}
				d.finish(id)
				d.tick(tickPeriod)
				if n := d.host.metric("kvsteer_bypass_no_prompt"); n != 1 {
					t.Errorf("kvsteer_bypass_no_prompt = %d, want 1", n)
				}
			})
		})
	}
}

func TestForgedDestinationIsOverwritten(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 1)
		id, _ := d.stream(append(chatHeaders(len(body)), [2]string{destinationHeader, "6.6.6.6:6"}), false)
		d.body(id, body, true)
		if to := d.destination(id); !strings.HasPrefix(to, "10.0.0.") {
			t.Errorf("destination = %q, want one of the pool", to)
		}
	})
}

func TestObserveTouchesNothing(t *testing.T) {
	drive(t, withPools(`"mode":"observe"`), func(t *testing.T, d *driver) {
		body := chatBody("ann", 2)
		for range 2 {
			id, _ := d.stream(chatHeaders(len(body)), false)
			d.body(id, body, true)
			if to := d.destination(id); to != "" {
				t.Fatalf("destination = %q, want none", to)
			}
			d.answer(id, "10.0.0.3:80", "{}")
			d.finish(id)
		}
		d.tick(tickPeriod)
		if n := d.host.metric("kvsteer_placements_learned"); n != 2 {
			t.Errorf("kvsteer_placements_learned = %d, want 2: responses tell who served", n)
		}
		if n := d.host.metric("kvsteer_matched_bytes"); n == 0 {
			t.Error("the second request matched nothing")
		}
	})
}

func TestPercentIsByConversation(t *testing.T) {
	drive(t, withPools(`"percent":50`), func(t *testing.T, d *driver) {
		steered := 0
		for i := range 60 {
			user := "user" + strconv.Itoa(i)
			got := d.chat(chatBody(user, 1)) != ""
			if again := d.chat(chatBody(user, 2)) != ""; again != got {
				t.Errorf("%s is steered in one turn only", user)
			}
			if got {
				steered++
			}
		}
		if steered < 15 || steered > 45 {
			t.Errorf("%d of 60 conversations are steered, want about half", steered)
		}
	})
}

func TestPoolsByCluster(t *testing.T) {
	const config = `{"pools":[{"cluster":"a","endpoints":["10.0.0.1:80"]},{"cluster":"b","endpoints":["10.0.0.2:80"]}]}`
	for cluster, want := range map[string]string{"a": "10.0.0.1:80", "b": "10.0.0.2:80", "c": ""} {
		t.Run(cluster, func(t *testing.T) {
			drive(t, config, func(t *testing.T, d *driver) {
				d.host.attributes["xds\x00cluster_name"] = cluster
				body := chatBody("ann", 1)
				id, action := d.stream(chatHeaders(len(body)), false)
				if action == requestPaused {
					d.body(id, body, true)
				}
				if got := d.destination(id); got != want {
					t.Errorf("destination = %q, want %q", got, want)
				}
			})
		})
	}
}

func TestEndpointsOfTheOwnZoneComeFirst(t *testing.T) {
	const config = `{"pools":[{"cluster":"a","endpoints":[
		{"address":"10.0.0.1:80","zone":"far"},{"address":"10.0.0.2:80","zone":"near"},{"address":"10.0.0.3:80","zone":"far"}]}]}`
	for _, user := range []string{"ann", "ben", "cleo", "dora"} {
		h := newFakeHost(config)
		h.attributes["xds\x00node\x00locality\x00zone"] = "near"
		d := start(t, h, newNative(h))
		body := `{"messages":[{"role":"user","content":"` + strings.Repeat(user+" asks. ", 2000) + `"}]}`
		if to := first(d.chat(body)); to != "10.0.0.2:80" {
			t.Errorf("%s's first prompt goes to %s in another zone, on an idle fleet", user, to)
		}
	}
}

func TestWaitEnds(t *testing.T) {
	long := chatBody("ann", 400)
	tests := []struct {
		name, metric string
		run          func(d *driver, id uint32)
	}{
		{"by bytes", "decided_wait_bytes", func(d *driver, id uint32) { d.body(id, long[:256<<10], false) }},
		{"by silence", "decided_wait_silent", func(d *driver, id uint32) {
			d.body(id, long[:100], false)
			for range 3 {
				d.tick(tickPeriod)
			}
		}},
		{"by time", "decided_wait_time", func(d *driver, id uint32) {
			for i := range 11 {
				d.body(id, long[i:i+1], false)
				d.tick(tickPeriod)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, withPools(`"table":{"endpoints":4}`), func(t *testing.T, d *driver) {
				id, _ := d.stream(chatHeaders(-1), false)
				tt.run(d, id)
				if d.destination(id) == "" {
					t.Error("no destination although the wait is over")
				}
				d.finish(id)
				d.tick(tickPeriod)
				if n := d.host.metric("kvsteer_" + tt.metric); n != 1 {
					t.Errorf("kvsteer_%s = %d, want 1", tt.metric, n)
				}
			})
		})
	}
}

func TestMissingFlagIsFound(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 1)
		for range strikesMissing {
			id, action := d.stream(chatHeaders(len(body)), false)
			if action != requestPaused {
				t.Fatal("a stream didn't wait before the flag was found missing")
			}
			for range 3 {
				d.tick(tickPeriod)
			}
			if d.host.streams[id].continued != 1 {
				t.Fatal("the tick didn't release the stream")
			}
			d.host.clock += time.Millisecond
			d.body(id, body, true)
			d.finish(id)
		}
		id, action := d.stream(chatHeaders(len(body)), false)
		if action != types.ActionContinue || d.destination(id) == "" {
			t.Errorf("action = %d, destination %q: want a choice by the headers alone", action, d.destination(id))
		}
		d.body(id, body, true)
		d.finish(id)
		d.tick(probeAgain)
		if _, action = d.stream(chatHeaders(len(body)), false); action != requestPaused {
			t.Error("a minute later no stream probes again")
		}
	})
}

func TestSlowFirstClientIsNoMissingFlag(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 1)
		for range 2 * strikesMissing {
			id, action := d.stream(chatHeaders(len(body)), false)
			if action != requestPaused {
				t.Fatal("slow clients made the flag look missing")
			}
			for range 5 {
				d.tick(tickPeriod)
			}
			d.body(id, body, true)
			d.finish(id)
		}
	})
}

func TestReadersAreBounded(t *testing.T) {
	drive(t, withPools(`"readers":2`), func(t *testing.T, d *driver) {
		var held []uint32
		for range 2 {
			id, _ := d.stream(chatHeaders(100), false)
			held = append(held, id)
		}
		if _, action := d.stream(chatHeaders(100), false); action != types.ActionContinue {
			t.Error("a third body is read with two readers")
		}
		for _, id := range held {
			d.finish(id)
		}
		if _, action := d.stream(chatHeaders(100), false); action != requestPaused {
			t.Error("readers of aborted streams don't come back")
		}
	})
}

func TestFlightsEnd(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 3)
		for phase := range 5 {
			id, _ := d.stream(chatHeaders(len(body)), false)
			if phase > 0 {
				d.body(id, body[:500], false)
			}
			if phase > 1 {
				d.body(id, body[500:], true)
			}
			if phase > 2 {
				d.answer(id, first(d.destination(id)), "{}")
			}
			if phase > 3 {
				d.answer(id, "10.9.9.9:80", "{}")
			}
			d.finish(id)
		}
		d.tick(tickPeriod)
		started, ended := d.host.metric("kvsteer_flights_started"), d.host.metric("kvsteer_flights_ended")
		if started != 3 || started != ended {
			t.Errorf("%d flights started, %d ended; want 3 and 3", started, ended)
		}
	})
}

// TestHostCalls holds the budget of calls into Envoy.
func TestHostCalls(t *testing.T) {
	drive(t, fourEndpoints, func(t *testing.T, d *driver) {
		body := chatBody("ann", 12)
		body = body[:16<<10]
		check := func(what string, most int) {
			t.Helper()
			if n := d.host.crossings(); n > most {
				t.Errorf("%s: %d host calls, want at most %d", what, n, most)
			}
		}
		id, _ := d.stream(chatHeaders(len(body)+10), false)
		d.body(id, body, false)
		d.host.crossings()
		d.body(id, "abcdefghij", false)
		check("further chunk", 2)
		d.finish(id)
		d.host.crossings()

		body = chatBody("ann", 12)
		id, _ = d.stream(chatHeaders(len(body)), false)
		d.body(id, body, false)
		d.body(id, "", true)
		check("request in one chunk", 8)
		d.answer(id, first(d.destination(id)), "{}")
		check("first answer of an engine", 4)
		d.finish(id)
		check("end", 0)

		id, _ = d.stream(append(without(chatHeaders(-1), ":method"), [2]string{":method", "GET"}), true)
		check("headers only", 4)
		d.finish(id)
	})
}
