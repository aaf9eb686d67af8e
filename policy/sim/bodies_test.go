// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadBodies(t *testing.T) {
	long := strings.Repeat("x", 3*blockBytes)
	body := func(turns ...string) string {
		var messages []string
		for i, text := range turns {
			messages = append(messages, fmt.Sprintf(`{"role":"%s","content":"%s"}`, []string{"user", "assistant"}[i%2], text))
		}
		return `{"messages":[` + strings.Join(messages, ",") + `]}`
	}
	line := func(ms int, body string) string {
		return fmt.Sprintf(`{"timestamp":%d,"path":"/v1/chat/completions","output_length":7,"body":%s}`+"\n", ms, body)
	}
	trace, err := ReadBodies("test", strings.NewReader(
		line(0, body(long))+line(1500, body(long, "yes", "and?"))+line(2000, body("y"+long))+line(2100, `{"model":"m"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Requests) != 3 {
		t.Fatalf("%d requests, want 3: one body has no prompt", len(trace.Requests))
	}
	first, second, other := trace.Requests[0], trace.Requests[1], trace.Requests[2]
	if second.At != 1.5 || second.Output != 7 || !slices.Equal(first.Blocks[:3], second.Blocks[:3]) {
		t.Errorf("a later turn %+v doesn't begin with the blocks of the first, %v", second, first.Blocks)
	}
	if other.Blocks[0] == first.Blocks[0] {
		t.Error("different prompts share their first block")
	}
	if _, err := ReadBodies("broken", strings.NewReader("{")); err == nil {
		t.Error("a broken line is read")
	}
}

// TestScannedBodiesAreRoutedAsTheirBlocks: a trace of agents is routed nearly as
// well from its bodies as from its block numbers, wherever the tools stand.
func TestScannedBodiesAreRoutedAsTheirBlocks(t *testing.T) {
	blocks := AgentLoad{Sessions: 0.1, Seconds: 60, Seed: 2}.Generate()
	m, _ := Find("prefix-aware")
	c := Config{Engines: 4, Gateways: 1, LoadAge: 0.5, Model: SimpleModel(), Policy: m, Seed: 1}
	play := func(trace Trace) Report {
		c.Trace = trace
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := play(blocks)
	for _, toolsLast := range []bool{false, true} {
		if got := play(WithBodies(blocks, toolsLast)); got.HitRatio < want.HitRatio-0.02 || got.AwaitedShare != 1 {
			t.Errorf("tools last %v: hit ratio %.3f with %.2f of bodies awaited; by blocks %.3f", toolsLast, got.HitRatio, got.AwaitedShare, want.HitRatio)
		}
	}
	c.Options.TrustTag = true
	if got := play(WithBodies(blocks, false)); got.EarlyShare < 0.5 || got.AwaitedShare > 0.9 || got.HitRatio < want.HitRatio-0.02 {
		t.Errorf("with the tag trusted %.2f early, %.2f awaited, hit ratio %.3f", got.EarlyShare, got.AwaitedShare, got.HitRatio)
	}
}

// TestChatBodiesAreJSON and keep their leading part from turn to turn.
func TestChatBodiesAreJSON(t *testing.T) {
	q := Request{Blocks: []int{1, 2, 3, 4}, Head: 2}
	for _, toolsLast := range []bool{false, true} {
		body := chatBody(&q, toolsLast)
		if !json.Valid(body) || len(body) < 4*blockBytes {
			t.Errorf("tools last %v: %d bytes, valid %v", toolsLast, len(body), json.Valid(body))
		}
		q.Blocks = append(q.Blocks, 5)
		longer := chatBody(&q, toolsLast)
		q.Blocks = q.Blocks[:4]
		if n := len(body) - 20; !toolsLast && string(body[:n]) != string(longer[:n]) {
			t.Error("a later turn doesn't begin with the earlier one")
		}
	}
}

func TestAgentLoad(t *testing.T) {
	trace := AgentLoad{Seconds: 200, Seed: 3}.Generate()
	siblings := 0
	for i, r := range trace.Requests {
		if i > 0 && r.At < trace.Requests[i-1].At {
			t.Fatal("arrivals are not in order")
		}
		if kb := r.Head * blockBytes / 1000; kb < 57 || kb > 100 {
			t.Fatalf("%d KB of tools", kb)
		}
		if r.Prev > 0 && r.Prev < r.Head || r.Prev >= len(r.Blocks) || r.Blocks[r.Head] != r.Key {
			t.Fatalf("request %d: head %d, prev %d of %d blocks", i, r.Head, r.Prev, len(r.Blocks))
		}
		if i > 0 && r.At-trace.Requests[i-1].At < 0.06 && r.Key == trace.Requests[i-1].Key {
			siblings++
		}
	}
	if siblings < 20 {
		t.Errorf("%d requests follow a sibling at once", siblings)
	}
}
