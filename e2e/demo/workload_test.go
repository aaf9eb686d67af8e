// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestOfficeIsTheSameEveryTime(t *testing.T) {
	if !reflect.DeepEqual(office().sessions, office().sessions) {
		t.Error("two workloads of one seed differ")
	}
}

func TestOfficeSizes(t *testing.T) {
	w := office()
	agents, chats := 0, 0
	for i := range w.sessions {
		s := &w.sessions[i]
		if s.start < 0 || s.start > officeLength {
			t.Errorf("session %d starts at %v", i, s.start)
		}
		if !strings.Contains(s.closing, `"tools"`) {
			chats++
			continue
		}
		agents++
		if n := len(s.turns); n < 10 || n > 20 {
			t.Errorf("agent session %d has %d turns, want 10 to 20", i, n)
		}
		if n := len(s.closing); n < 20_000 || n > 83_000 {
			t.Errorf("agent session %d has tools of %d bytes, want 20 to 80 KB", i, n)
		}
	}
	if agents != agentSessions+bursts*burstSiblings || chats != chatSessions {
		t.Errorf("%d agents and %d chats", agents, chats)
	}
}

// The sessions that run at one time need about twice one engine's cache, so
// that an engine that gets a share of everything can't hold it, and one that
// gets a share of the conversations can.
func TestOfficeNeedsTwiceACache(t *testing.T) {
	w := office()
	moments, total, most := 0, 0, 0
	for at := 40 * time.Second; at < officeLength; at += time.Second {
		heads, bytes := map[string]bool{}, 0
		for i := range w.sessions {
			s := &w.sessions[i]
			turn := turnAt(s, at)
			if turn < 0 {
				continue
			}
			if head := s.opening + s.closing; !heads[head] {
				heads[head] = true
				bytes += len(head)
			}
			for n := range turn + 1 {
				bytes += len(s.turns[n].text) + 4*s.turns[n].maxTokens
			}
		}
		moments, total, most = moments+1, total+bytes/4, max(most, bytes/4)
	}
	cache := w.engine.cacheTokens
	if mean := total / moments; mean < cache*3/2 || mean > cache*5/2 {
		t.Errorf("the sessions of one moment need %d tokens (at most %d), want about twice the cache of %d", mean, most, cache)
	}
}

// turnAt estimates which turn a session is at, −1 for none: a turn takes its
// thinking, a second and its decoding.
func turnAt(s *session, at time.Duration) int {
	end := s.start
	for n, turn := range s.turns {
		if at < end {
			return n - 1
		}
		end += turn.think + time.Second + time.Duration(turn.maxTokens)*time.Second/40
	}
	if at < end {
		return len(s.turns) - 1
	}
	return -1
}

func TestBodiesAreJSONAndGrow(t *testing.T) {
	w := office()
	for i := range w.sessions {
		s := &w.sessions[i]
		var answers []string
		last := 0
		for n := range s.turns {
			body := s.appendBody(nil, n, answers)
			var out struct {
				Messages  []struct{ Role string }
				Stream    bool
				MaxTokens int `json:"max_tokens"`
			}
			if err := json.Unmarshal(body, &out); err != nil {
				t.Fatalf("session %d, turn %d: %v", i, n, err)
			}
			if len(out.Messages) != 2+2*n || out.MaxTokens != s.turns[n].maxTokens || out.Stream != s.stream || len(body) <= last {
				t.Errorf("session %d, turn %d: %d messages, max_tokens %d, stream %t, %d bytes",
					i, n, len(out.Messages), out.MaxTokens, out.Stream, len(body))
			}
			last = len(body)
			answers = append(answers, "answer")
		}
	}
}

const someTrace = `{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 1]}
{"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": [0, 2]}
{"timestamp": 3000, "input_length": 1500, "output_length": 0, "hash_ids": [0, 2, 3]}
{"timestamp": 9000000, "input_length": 1, "output_length": 1, "hash_ids": [4]}
`

func TestTraceBecomesPrompts(t *testing.T) {
	w, err := trace("t.jsonl", strings.NewReader(someTrace))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.sessions) != 3 {
		t.Fatalf("%d sessions, want the 3 of the first %v", len(w.sessions), traceStretch)
	}
	var prompts []string
	for i := range w.sessions {
		var out struct {
			Prompt    string
			Stream    bool
			MaxTokens int `json:"max_tokens"`
		}
		if err := json.Unmarshal(w.sessions[i].appendBody(nil, 0, nil), &out); err != nil {
			t.Fatal(err)
		}
		if !out.Stream || out.MaxTokens < 1 {
			t.Errorf("request %d: stream %t, max_tokens %d", i, out.Stream, out.MaxTokens)
		}
		prompts = append(prompts, out.Prompt)
	}
	for i, want := range []int{600 * 4, 1024 * 4, 1500 * 4} {
		if len(prompts[i]) != want {
			t.Errorf("prompt %d has %d bytes, want %d", i, len(prompts[i]), want)
		}
	}
	if prompts[0][:traceBlock] != prompts[1][:traceBlock] || prompts[0][traceBlock:] == prompts[1][traceBlock:600*4] {
		t.Error("equal block ids must give equal text, others must not")
	}
	if !strings.HasPrefix(prompts[2], prompts[1]) {
		t.Error("the third prompt doesn't begin with the second")
	}
}

func TestArrivalsAreSpreadInsideTheirStep(t *testing.T) {
	var lines []traceLine
	for i := range 300 {
		lines = append(lines, traceLine{Timestamp: int64(i/100) * 3000})
	}
	spread(lines)
	same := 0
	for i, l := range lines[:200] {
		if step := int64(i/100) * 3000; l.Timestamp < step || l.Timestamp >= step+3000 {
			t.Errorf("request %d arrives at %d ms, outside its step at %d", i, l.Timestamp, step)
		}
		if l.Timestamp == int64(i/100)*3000 {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of 200 arrivals are not spread", same)
	}
}

func TestTraceFaults(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "not JSON": "hello\n"} {
		if _, err := trace(name, strings.NewReader(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
