// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"fmt"
	"strings"
	"testing"
)

// TestMarks names the places of the marks by their offsets. All messages are short and few, so that
// each mark is a block's end, and its hash is that block's.
func TestMarks(t *testing.T) {
	for _, c := range []struct {
		name            string
		shape           Shape
		body            string
		head, key, prev int
	}{
		{"system, user, assistant, user", Chat,
			`{"messages":[{"role":"system","content":"ab"},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]}`, 18, 35, 52},
		{"two leading system messages", Chat,
			`{"messages":[{"role":"system","content":"ab"},{"role":"developer","content":"c"},{"role":"user","content":"d"},{"role":"system","content":"e"}]}`, 35, 52, 0},
		{"assistant before the first user message", Chat,
			`{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}`, 0, 34, 17},
		{"system messages only", Chat,
			`{"messages":[{"role":"system","content":"a"},{"role":"tool","content":"b"}]}`, 17, 17, 0},
		{"neither system nor user", Chat,
			`{"messages":[{"role":"tool","content":"a"},{"role":"tool","content":"b"}]}`, 0, 17, 0},
		{"no role at all", Chat, `{"messages":[{"content":"a"},{"role":"user","content":"b"}]}`, 0, 18, 0},
		{"role behind the content", Chat, `{"messages":[{"content":"a","role":"system"},{"content":"b","role":"user"}]}`, 17, 34, 0},
		{"short prompt", Completions, `{"prompt":"abc"}`, 0, 3, 0},
		{"long prompt", Completions, `{"prompt":"` + strings.Repeat("x", 10_000) + `"}`, 0, keyBytes, 0},
		{"batch of prompts", Completions, `{"prompt":["abc","` + strings.Repeat("x", 10_000) + `"]}`, 0, 3, 0},
		{"system prompt outside", Messages,
			`{"system":"ab","messages":[{"role":"user","content":"c"},{"role":"assistant","content":"d"}]}`, 18, 35, 52},
		{"instructions behind the input", Responses,
			`{"input":[{"role":"user","content":"c"},{"type":"function_call","name":"f","arguments":"{}"},{"type":"function_call_output","output":"x"}],"instructions":"ab"}`,
			18, 35, 44},
		{"item made by the model that has a role", Responses,
			`{"input":[{"role":"user","content":"c"},{"type":"reasoning","role":"tool"}]}`, 0, 17, 0},
	} {
		var s Scanner
		scanPieces(&s, Config{}, c.shape, []byte(c.body))
		hashAt := map[int]uint64{}
		for i, end := range s.Ends() {
			hashAt[int(end)] = s.Hashes()[i]
		}
		want := Marks{Head: c.head, HeadHash: hashAt[c.head], HeadKnown: true, Key: hashAt[c.key], KeyKnown: true, Prev: c.prev, PrevKnown: true}
		if got := s.Marks(); got != want || want.Key == 0 || (c.head > 0) != (want.HeadHash != 0) {
			t.Errorf("%s: reason %v, blocks end at %v\n got %+v\nwant %+v", c.name, s.Reason(), s.Ends(), got, want)
		}
	}
}

// TestHeadOfBothChains has system messages outside and inside the messages: the head ends at the
// last of them, and its hash depends on each.
func TestHeadOfBothChains(t *testing.T) {
	seen := map[uint64]bool{}
	for _, outside := range []string{"a", "b"} {
		for _, inside := range []string{"a", "b"} {
			o, reason := scan(Messages, fmt.Sprintf(`{"messages":[{"role":"system","content":%q},{"role":"user","content":"c"}],"system":%q}`, inside, outside))
			if !o.ok || o.marks.Head != 34 || o.marks.HeadHash == 0 || seen[o.marks.HeadHash] {
				t.Errorf("%s outside, %s inside: reason %v, %+v", outside, inside, reason, o.marks)
			}
			seen[o.marks.HeadHash] = true
		}
	}
}
