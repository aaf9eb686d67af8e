// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sixEndpoints is a configuration with these fields besides.
func sixEndpoints(rest string) string {
	var list []string
	for i := range 6 {
		list = append(list, fmt.Sprintf(`{"address":"10.0.0.%d:80","prefill_tokens_per_second":%d}`, i+1, 1000*(i+1)))
	}
	return `{"decision_header":true,"pools":[{"cluster":"engines","endpoints":[` + strings.Join(list, ",") + `]}],` + rest + `}`
}

// allAlgorithms lets requests ask for every algorithm and parameter.
const allAlgorithms = `"routing":{"default":"prefix-aware","request_algorithms":{"power-of-n":"power-of-n","wait-and-widen":"wait-and-widen",` +
	`"round-robin":"round-robin","random":"random","pulsar":"pulsar","pulsar-wait-and-widen":"pulsar-wait-and-widen","topology":"topology","least-load":"least-load"}}`

func asking(expression string, more ...string) [][2]string {
	h := append(chatHeaders(-1), [2]string{"x-routing-method", expression})
	for i := 0; i < len(more); i += 2 {
		h = append(h, [2]string{more[i], more[i+1]})
	}
	return h
}

// reply returns what a stream was answered with.
func (d *driver) reply(id uint32) (status int, code, body string) {
	s := d.host.streams[id]
	for _, l := range s.replyHeaders {
		if l[0] == "x-routing-error" {
			code = l[1]
		}
	}
	return s.replied, code, string(s.replyBody)
}

// TestRefusals are the bodies of the specification, and one of each further
// code. Each comes from the headers alone.
func TestRefusals(t *testing.T) {
	tests := []struct {
		name    string
		headers [][2]string
		status  int
		code    string
		body    string
	}{
		{"key twice", asking("power-of-n;n=1;n=1"), 400, "malformed_expression",
			`{"error":"parameter n appears twice","code":"malformed_expression","reason":"duplicate_key","parameter":"n"}`},
		{"header twice", asking("random", "x-routing-method", "random"), 400, "malformed_expression", ""},
		{"empty", asking(" "), 400, "malformed_expression", ""},
		{"too long", asking("random;" + strings.Repeat("a", 1100)), 400, "expression_too_long",
			`{"error":"x-routing-method is longer than 1024 bytes","code":"expression_too_long"}`},
		{"unknown method", asking("sticky"), 400, "unknown_method",
			`{"error":"unknown routing method sticky","code":"unknown_method"}`},
		{"unknown parameter", asking("pulsar;colour=red"), 400, "unknown_parameter",
			`{"error":"unknown parameter colour for pulsar","code":"unknown_parameter","parameter":"colour"}`},
		{"another's parameter", asking("pulsar;n=2"), 400, "unsupported_parameter",
			`{"error":"pulsar does not take parameter n","code":"unsupported_parameter","parameter":"n"}`},
		{"policy", asking("pulsar;max_input_work_seconds=3"), 400, "parameter_not_allowed", ""},
		{"virtual nodes", asking("wait-and-widen;cache_affinity_virtual_nodes=999999999999999"), 400, "invalid_value",
			`{"error":"cache_affinity_virtual_nodes must be 1 to 1024","code":"invalid_value","reason":"out_of_range","parameter":"cache_affinity_virtual_nodes"}`},
		{"inert", asking("wait-and-widen;max_queue_time_floor_ms=3"), 400, "inert_parameter",
			`{"error":"max_queue_time_floor_ms has no effect without max_queue_time_ceil_ms","code":"inert_parameter","parameter":"max_queue_time_floor_ms"}`},
		{"KV demands tokens", asking("pulsar;consider_kv_free_tokens=true"), 400, "missing_header", ""},
		{"priority", append(chatHeaders(-1), [2]string{"x-priority", "+1"}), 400, "invalid_header",
			`{"error":"x-priority must be an unsigned 32-bit integer","code":"invalid_header","header":"x-priority"}`},
		{"key in two lines", asking("random", "x-routing-key", "a", "x-routing-key", "a"), 400, "invalid_header", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
				id, action := d.stream(tt.headers, false)
				status, code, body := d.reply(id)
				if action != requestPaused || status != tt.status || code != tt.code {
					t.Errorf("action %d, status %d, code %q; want %d, %d, %q", action, status, code, requestPaused, tt.status, tt.code)
				}
				if tt.body != "" && body != tt.body {
					t.Errorf("body %s\nwant %s", body, tt.body)
				}
				if !slices.Contains(d.host.streams[id].replyHeaders, [2]string{"content-type", "application/json"}) {
					t.Errorf("headers of the answer: %v", d.host.streams[id].replyHeaders)
				}
				if to := d.destination(id); to != "" {
					t.Errorf("an endpoint was chosen: %s", to)
				}
				d.host.streams[id].response = [][2]string{{"x-routing-error", code}}
				d.vm.responseHeaders(id, 1, false)
				if len(d.host.streams[id].response) != 1 {
					t.Error("the code was taken from our own answer")
				}
				d.finish(id)
				d.want(map[string]int64{"flights_started": 0, "panics": 0})
			})
		})
	}
}

func TestRefusalsAreCounted(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		for _, e := range []string{"sticky", "pulsar;n=2", "pulsar;n=2", "random"} {
			id, _ := d.stream(asking(e), false)
			d.finish(id)
		}
		id, _ := d.stream(append(chatHeaders(-1), [2]string{"x-priority", ""}), false)
		d.finish(id)
		d.want(map[string]int64{
			"routing_expression_rejections_total.method.unknown.code.unknown_method":       1,
			"routing_expression_rejections_total.method.pulsar.code.unsupported_parameter": 2,
			"routing_header_rejections_total.code.invalid_header":                          1,
			"routing_requests_total.method.pulsar.outcome.rejected":                        2,
			"routing_requests_total.method.random.outcome.selected":                        1,
			"routing_selections_total.method.random.selection.primary":                     1,
			"routing_config_loads_total.result.accepted":                                   1,
		})
	})
}

// TestHeadersThatNoEngineSees holds with and without a routing section.
func TestHeadersThatNoEngineSees(t *testing.T) {
	for name, config := range map[string]string{"section": sixEndpoints(allAlgorithms), "no section": fourEndpoints} {
		t.Run(name, func(t *testing.T) {
			drive(t, config, func(t *testing.T, d *driver) {
				body := chatBody("ann", 1)
				id, _ := d.stream(asking("random", "x-routing-error", "made_up", "x-model", "m"), false)
				d.body(id, body, true)
				if d.header(id, "x-routing-method")+d.header(id, "x-routing-error") != "" || d.header(id, "x-model") != "m" {
					t.Errorf("the engine gets %v", d.host.streams[id].request)
				}
				if d.destination(id) == "" {
					t.Error("no destination")
				}
				d.finish(id)
				ignored := int64(1)
				if name == "section" {
					ignored = 0
				}
				d.want(map[string]int64{"routing_expressions_ignored": ignored, "routing_errors_removed": 1})
			})
		})
	}
}

func TestForgedCodeInAnswer(t *testing.T) {
	body := chatBody("ann", 1)
	get := append(without(chatHeaders(-1), ":method"), [2]string{":method", "GET"})
	for name, headers := range map[string][][2]string{"routed": asking("random"), "not asked": chatHeaders(-1), "bypassed": get} {
		t.Run(name, func(t *testing.T) {
			drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
				id, _ := d.stream(headers, false)
				d.body(id, body, true)
				d.respond(id, served{lines: [][2]string{{"x-routing-error", "no_eligible_backend"}, {"x-other", "a"}}})
				for _, l := range d.host.streams[id].response {
					if l[0] == "x-routing-error" {
						t.Error("an engine's routing error gets through")
					}
				}
			})
		})
	}
}

func TestRoutingFaultsHavePointers(t *testing.T) {
	_, faults := parseConfig([]byte(sixEndpoints(`"routing":{"default":"best","strict":1,"models":{"a/b":{"algorithm":"pulsar","n":2}},"request_parameters":["x"]}`)))
	var got []string
	for _, f := range faults {
		got = append(got, f.pointer)
	}
	slices.Sort(got)
	want := []string{"/routing/default", "/routing/models/a~1b/n", "/routing/request_parameters/0", "/routing/strict"}
	if !slices.Equal(got, want) {
		t.Errorf("faults at %q, want %q", got, want)
	}
}

func TestRefusedSectionIsCounted(t *testing.T) {
	h := newFakeHost(sixEndpoints(`"routing":{"default":"best"}`))
	if newNative(h).start(root) {
		t.Fatal("a faulty section was accepted")
	}
	if n := h.metric("kvsteer_routing_config_loads_total.result.rejected"); n != 1 {
		t.Errorf("rejected loads = %d, want 1", n)
	}
}

// TestHostCallsOfRoutedRequests holds the budget of TestHostCalls where there
// is a routing section; an expression costs its removal.
func TestHostCallsOfRoutedRequests(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		body := chatBody("ann", 12)
		for range 3 { // the first is measured, which costs calls too
			id, _ := d.stream(chatHeaders(len(body)), false)
			d.body(id, body, true)
			d.finish(id)
		}
		d.host.crossings()
		for name, headers := range map[string][][2]string{"no expression": chatHeaders(len(body)), "expression": asking("prefix-aware")} {
			id, _ := d.stream(headers, false)
			d.body(id, body, false)
			d.body(id, "", true)
			if n := d.host.crossings(); n > 8 {
				t.Errorf("%s: %d host calls, want at most 8", name, n)
			}
			d.finish(id)
		}
		id, _ := d.stream(asking("random"), true)
		if n := d.host.crossings(); n > 4 {
			t.Errorf("decided by headers: %d host calls, want at most 4", n)
		}
		d.finish(id)
	})
}
