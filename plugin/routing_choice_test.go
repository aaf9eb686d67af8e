// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

func TestAlgorithmsThatNeedNoBodyDecideAtOnce(t *testing.T) {
	for expression, atOnce := range map[string]bool{
		"power-of-n": true, "round-robin": true, "random": true, "least-load": true, "wait-and-widen": true,
		"pulsar": false, "prefix-aware": false, "topology": false,
		"wait-and-widen;cache_affinity_backend_selection_count=2": false,
	} {
		t.Run(expression, func(t *testing.T) {
			drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
				id, action := d.stream(asking(expression), false)
				if got := action == types.ActionContinue && d.destination(id) != ""; got != atOnce {
					t.Errorf("decided by the headers: %v, want %v", got, atOnce)
				}
				if d.body(id, chatBody("ann", 1), true) != types.ActionContinue || d.destination(id) == "" {
					t.Error("no choice at the body's end")
				}
				d.answer(id, first(d.destination(id)), "{}")
				method, _, _ := strings.Cut(expression, ";")
				response := d.host.streams[id].response
				if receipt := response[len(response)-1][1]; !strings.HasPrefix(receipt, method+";") {
					t.Errorf("the receipt %s doesn't name %s", receipt, method)
				}
				d.finish(id)
			})
		})
	}
}

// TestKeyDecidesBeforeTheBodyEnds: a hash of the conversation needs its
// beginning only, one of a header's key needs nothing where the model is named.
func TestKeyDecidesBeforeTheBodyEnds(t *testing.T) {
	drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
		body := chatBody("ann", 30)
		id, _ := d.stream(asking("pulsar"), false)
		if action := d.body(id, body[:6000], false); action != types.ActionContinue {
			t.Error("the conversation's key does not decide")
		}
		again, _ := d.stream(asking("pulsar"), false)
		d.body(again, chatBody("ann", 2), true)
		if d.destination(again) != d.destination(id) {
			t.Errorf("turns of one conversation go to %s and %s", d.destination(id), d.destination(again))
		}
		named, action := d.stream(asking("pulsar", "x-model", "m", "x-cache-affinity-key", "k"), false)
		if action != types.ActionContinue || d.destination(named) == "" {
			t.Error("model and key in headers do not decide at once")
		}
	})
}

func TestModelFromHeaderElseBodyElseDefault(t *testing.T) {
	const section = `"routing":{"default":"random","model_header":"x-llm","models":{"a":"round-robin","b":"least-load","m":"topology"}}`
	body := chatBody("ann", 1) // of model m
	for _, tt := range []struct {
		name    string
		headers []string
		body    string
		method  string
		unknown int64
	}{
		{"x-model", []string{"x-model", "a", "x-llm", "b"}, body, "round-robin", 0},
		{"configured header", []string{"x-llm", "b"}, body, "least-load", 0},
		{"body", nil, body, "topology", 0},
		{"another model", []string{"x-model", "c"}, body, "random", 0},
		{"none", nil, strings.Replace(body, `"model":"m",`, "", 1), "random", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, sixEndpoints(section), func(t *testing.T, d *driver) {
				h := asking("x", tt.headers...)
				id, _ := d.stream(without(h, "x-routing-method"), false)
				d.body(id, tt.body, true)
				if d.destination(id) == "" {
					t.Error("no destination")
				}
				d.finish(id)
				d.want(map[string]int64{
					"routing_requests_total.method." + tt.method + ".outcome.selected": 1,
					"routing_models_unknown": tt.unknown,
				})
			})
		})
	}
}

func TestExpressionIsJudgedForTheModelOfTheBody(t *testing.T) {
	const section = `"routing":{"models":{"m":{"algorithm":"pulsar","request_parameters":[]}}}`
	drive(t, sixEndpoints(section), func(t *testing.T, d *driver) {
		id, action := d.stream(asking("pulsar;seed=a"), false)
		if action != requestPaused {
			t.Fatal("it is decided before its model is known")
		}
		d.body(id, chatBody("ann", 1)[:40], false)
		if status, code, _ := d.reply(id); status != 400 || code != "parameter_not_allowed" {
			t.Errorf("status %d, code %q at the first bytes", status, code)
		}
	})
}

func TestAffinityKeyOfSessionHeader(t *testing.T) {
	const section = `"routing":{"default":"pulsar","require_model":true,"session_headers":["x-session","x-user"]}`
	drive(t, sixEndpoints(section), func(t *testing.T, d *driver) {
		to := func(more ...string) string {
			id, action := d.stream(without(asking("x", append(more, "x-model", "m")...), "x-routing-method"), false)
			if action != types.ActionContinue {
				t.Errorf("%v: it waits", more)
			}
			return d.destination(id)
		}
		key := to("x-cache-affinity-key", "k7")
		if to("x-session", "k7") != key || to("x-user", "k7") != key || to("x-user", "other", "x-session", "k7") != key ||
			to("x-session", " ", "x-user", "k7") != key || to("x-session", "other", "x-cache-affinity-key", "k7") != key {
			t.Error("the order of the headers that hold the key is not kept")
		}
		if id, _ := d.stream(chatHeaders(-1), false); d.host.streams[id].replied != 400 {
			t.Error("a request without x-model is let through")
		}
	})
}

// TestRequestsWithoutReadableBody are steered where they ask to be.
func TestRequestsWithoutReadableBody(t *testing.T) {
	swap := func(name, value string) [][2]string {
		return append(without(asking("least-load"), name), [2]string{name, value})
	}
	for name, headers := range map[string][][2]string{
		"GET": swap(":method", "GET"), "path": swap(":path", "/v1/audio/transcriptions"), "multipart": swap("content-type", "multipart/form-data"),
		"gzip": swap("content-encoding", "gzip"), "grpc": swap("content-type", "application/grpc"), "upgrade": swap("upgrade", "websocket"),
	} {
		t.Run(name, func(t *testing.T) {
			drive(t, sixEndpoints(allAlgorithms), func(t *testing.T, d *driver) {
				id, action := d.stream(headers, name == "GET")
				if action != types.ActionContinue || d.destination(id) == "" || d.header(id, "x-routing-method") != "" {
					t.Errorf("action %d, destination %q", action, d.destination(id))
				}
				if name != "GET" && d.body(id, "anything", true) != types.ActionContinue {
					t.Error("its body is held")
				}
				d.answer(id, first(d.destination(id)), `{"usage":{"prompt_tokens":5}}`)
				d.finish(id)
				without, action := d.stream(without(headers, "x-routing-method"), name == "GET")
				if action != types.ActionContinue || d.destination(without) != "" {
					t.Error("one that doesn't ask is steered")
				}
				d.finish(without)
				d.want(map[string]int64{"flights_started": 1, "flights_ended": 1, "panics": 0})
			})
		})
	}
}

func TestObserveRefusesNothing(t *testing.T) {
	drive(t, sixEndpoints(`"mode":"observe",`+allAlgorithms), func(t *testing.T, d *driver) {
		id, action := d.stream(asking("sticky"), false)
		if action != types.ActionContinue || d.host.streams[id].replied != 0 {
			t.Error("a request is answered although the mode is observe")
		}
		d.finish(id)
		d.want(map[string]int64{"bypass_unrefused": 1, "routing_requests_total.method.unknown.outcome.rejected": 1})
	})
}

func TestNoEndpoint(t *testing.T) {
	empty := func(more string) string {
		return `{"pools":[{"cluster":"engines"}],"collector":{"admin_cluster":"admin"},"routing":{` + more + `"request_algorithms":{"random":"random"}}}`
	}
	for _, tt := range []struct {
		name, config string
		headers      [][2]string
		status       int
	}{
		{"asked", empty(""), asking("random"), 404},
		{"not asked", empty(""), chatHeaders(-1), 0},
		{"strict", empty(`"strict":true,`), append(chatHeaders(-1), [2]string{"x-model", "m"}), 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drive(t, tt.config, func(t *testing.T, d *driver) {
				id, _ := d.stream(tt.headers, false)
				d.body(id, chatBody("ann", 1), true)
				if status, _, _ := d.reply(id); status != tt.status {
					t.Errorf("status %d, want %d", status, tt.status)
				}
				d.finish(id)
				d.want(map[string]int64{"routing_definition_cache_entries": 0})
			})
		})
	}
}

func TestWorkLimitAnswers503(t *testing.T) {
	const section = `"routing":{"default":{"algorithm":"random","max_input_work_seconds":0.001}}`
	drive(t, sixEndpoints(section), func(t *testing.T, d *driver) {
		id, _ := d.stream(append(chatHeaders(-1), [2]string{"x-input-tokens", "22"}), false)
		if status, _, _ := d.reply(id); status != 503 {
			t.Errorf("22 tokens at 21,000 tokens/s: status %d, want 503", status)
		}
		id, _ = d.stream(append(chatHeaders(-1), [2]string{"x-input-tokens", "21"}), false)
		if status, _, _ := d.reply(id); status != 0 {
			t.Errorf("21 tokens: status %d, want none", status)
		}
		d.want(map[string]int64{
			"routing_admission_rejections_total.reason.input_work_limit_exceeded": 1,
			"routing_requests_total.method.random.outcome.shed":                   1,
		})
	})
}

func TestRoundRobinTakesTurns(t *testing.T) {
	for _, n := range []int{2, 3, 6} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"10.0.0.%d:80"`, i+1))
		}
		config := `{"pools":[{"cluster":"a","endpoints":[` + strings.Join(list, ",") + `]}],"routing":{"default":"round-robin"}}`
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			drive(t, config, func(t *testing.T, d *driver) {
				for i := range 3 * n {
					id, _ := d.stream(chatHeaders(-1), false)
					if got, want := first(d.destination(id)), strings.Trim(list[i%n], `"`); got != want {
						t.Errorf("request %d goes to %s, want %s", i, got, want)
					}
					if got := strings.Count(d.destination(id), ",") + 1; got != min(n, 3) {
						t.Errorf("%d endpoints are named, want %d", got, min(n, 3))
					}
				}
			})
		})
	}
}
