// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Eight conversations of four turns each: by chance alone they would stay with
// their engines once in 4²⁴ tries.
func TestConversationsStayWithTheirEngines(t *testing.T) {
	e := start(t, options{})
	used := map[string]bool{}
	const talks, turns = 8, 4
	for number := range talks {
		c := newTalk(number)
		home := ""
		for turn := range turns {
			a := e.steered(chatPath, c.body(t))
			if home == "" {
				home = a.engine
			}
			if a.engine != home {
				t.Errorf("conversation %d, turn %d: served by %s, began at %s", number, turn, a.engine, home)
			}
			again := e.steered(chatPath, c.body(t))
			if again.engine != home {
				t.Errorf("conversation %d, turn %d: the same body went to %s, then to %s", number, turn, home, again.engine)
			}
			c.reply(t, a)
		}
		used[home] = true
	}
	if len(used) < 2 {
		t.Errorf("all %d conversations went to one engine", talks)
	}
	for _, r := range e.received() {
		for name := range r.Header {
			if strings.HasPrefix(name, "X-Gateway") {
				t.Errorf("an engine got the header %s", name)
			}
		}
	}
	e.awaitStat("kvsteer_steered", 2*talks*turns)
	e.awaitStat("kvsteer_placements_learned", 2*talks*turns)
	e.awaitStat("kvsteer_flights_ended", 2*talks*turns)
}

// A body that differs in what the engine's cache depends on shares nothing;
// one that differs in spelling only is the same.
func TestWhatCountsAsTheSamePrompt(t *testing.T) {
	e := start(t, options{workers: 1})
	base := newTalk(1)
	base.Tools = tools(1, 5)
	first := e.steered(chatPath, base.body(t))
	if first.decision.match != 0 {
		t.Errorf("match of the first request = %d, want 0", first.decision.match)
	}
	variant := func(change func(*talk)) string {
		c := newTalk(1)
		c.Tools = tools(1, 5)
		change(c)
		return c.body(t)
	}
	plain := variant(func(*talk) {})
	for _, c := range []struct {
		name, body string
		same       bool
	}{
		{"the same body", plain, true},
		{"another limit of the answer", variant(func(c *talk) { c.Tokens = 99 }), true},
		{"spread over lines", strings.ReplaceAll(plain, `,"`, ",\n\t\""), true},
		{"tools in front", reorder(t, plain, "tools", "model", "messages"), true},
		{"letters as escapes", strings.ReplaceAll(plain, "assistant", `\u0061ssistant`), true},
		{"other tools", variant(func(c *talk) { c.Tools = tools(2, 5) }), false},
		{"no tools", variant(func(c *talk) { c.Tools = nil }), false},
		{"another model", variant(func(c *talk) { c.Model = "other" }), false},
		{"another first word", variant(func(c *talk) { c.Messages[0].Content = "Hello. " + c.Messages[0].Content }), false},
	} {
		a := e.steered(chatPath, c.body)
		if same := a.decision.match > 0; same != c.same {
			t.Errorf("%s: match %d of %d bytes, want a match: %t", c.name, a.decision.match, a.decision.prompt, c.same)
		}
		if c.same && a.engine != first.engine {
			t.Errorf("%s: went to %s, the first to %s", c.name, a.engine, first.engine)
		}
	}
}

// reorder writes an object's fields in another order.
func reorder(t *testing.T, body string, keys ...string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%q:%s", key, fields[key]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Every API keeps a growing prompt with its engine. One worker: a plain prompt
// shows no earlier turns, so a worker that hasn't seen them can't tell that it
// has grown.
func TestEveryShapeSticks(t *testing.T) {
	e := start(t, options{workers: 1})
	chat := func(format string) func(number, turn int) string {
		return func(number, turn int) string {
			var list []message
			for i := range turn + 1 {
				if i > 0 {
					list = append(list, message{"assistant", "Answer. " + prose(-i, 200)})
				}
				list = append(list, message{"user", prose(1000*number+i, 1200)})
			}
			return fmt.Sprintf(format, asJSON(t, list))
		}
	}
	plain := func(format string) func(number, turn int) string {
		return func(number, turn int) string {
			text := ""
			for i := range turn + 1 {
				text += prose(1000*number+i, 4500)
			}
			return fmt.Sprintf(format, asJSON(t, text))
		}
	}
	for _, c := range []struct {
		name, path string
		body       func(number, turn int) string
	}{
		{"chat", chatPath, chat(`{"model":"m","messages":%s}`)},
		{"chat, streamed", chatPath, chat(`{"model":"m","stream":true,"messages":%s}`)},
		{"completions", "/v1/completions", plain(`{"model":"m","prompt":%s}`)},
		{"responses", "/v1/responses", chat(`{"model":"m","instructions":"Be brief.","input":%s}`)},
		{"responses with a text", "/v1/responses", plain(`{"model":"m","input":%s}`)},
		{"messages", "/v1/messages", chat(`{"model":"m","max_tokens":9,"system":"Be brief.","messages":%s}`)},
		{"embeddings", "/v1/embeddings", plain(`{"model":"m","input":%s}`)},
		{"SGLang", "/generate", plain(`{"text":%s,"sampling_params":{"max_new_tokens":9}}`)},
		{"TGI", "/generate", plain(`{"inputs":%s}`)},
		{"llama.cpp", "/completion", plain(`{"prompt":%s,"n_predict":9}`)},
		{"Ollama chat", "/api/chat", chat(`{"model":"m","messages":%s}`)},
		{"Ollama generate", "/api/generate", plain(`{"model":"m","prompt":%s}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := e.in(t)
			for number := range 4 {
				home := ""
				for turn := range 3 {
					a := e.steered(c.path, c.body(number, turn))
					if home != "" && a.engine != home {
						t.Errorf("conversation %d, turn %d: served by %s, began at %s", number, turn, a.engine, home)
					}
					home = a.engine
				}
			}
		})
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Observing chooses and counts, and leaves the request to Envoy.
func TestObserveLeavesTheChoiceToEnvoy(t *testing.T) {
	e := start(t, options{settings: `"mode": "observe", `})
	engines := map[string]bool{}
	const requests = 30
	body := newTalk(1).body(t)
	for range requests {
		a := e.post(chatPath, body)
		if a.status != http.StatusOK || a.decision.steered || a.decision.endpoint == "" {
			t.Fatalf("status %d, decision %+v, want one that is not steered", a.status, a.decision)
		}
		engines[a.engine] = true
	}
	if len(engines) == 1 {
		t.Errorf("all %d equal bodies went to one engine", requests)
	}
	e.awaitStat("kvsteer_observed", requests)
	if got := e.stat("kvsteer_steered"); got != 0 {
		t.Errorf("kvsteer_steered = %d while observing", got)
	}
}

// With a percentage, each conversation is either steered or not, in all its
// turns.
func TestPercentGoesByConversation(t *testing.T) {
	e := start(t, options{settings: `"percent": 50, `})
	steered := 0
	const talks = 40
	for number := range talks {
		c := newTalk(number)
		first := e.post(chatPath, c.body(t))
		c.reply(t, first)
		if second := e.post(chatPath, c.body(t)); second.decision.steered != first.decision.steered {
			t.Errorf("conversation %d: steered %t, then %t", number, first.decision.steered, second.decision.steered)
		}
		if first.decision.steered {
			steered++
		}
	}
	if steered < talks/8 || steered > talks*7/8 {
		t.Errorf("%d of %d conversations steered at 50 percent", steered, talks)
	}
}
