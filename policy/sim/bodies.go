// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// bodyLine is a request body with its arrival: one JSON object a line.
type bodyLine struct {
	Timestamp    float64         `json:"timestamp"` // ms
	Path         string          `json:"path"`
	OutputLength int             `json:"output_length"`
	Body         json.RawMessage `json:"body"`
}

// ReadBodies reads a trace of request bodies. Engines see what a chat template
// makes of a body: tools, then roles and contents, in blocks of BlockTokens
// tokens of four bytes; equal leading text gives equal leading blocks. The
// gateway sees the body, and finds its structure by the scanner that runs in
// Envoy.
func ReadBodies(name string, r io.Reader) (Trace, error) {
	t := Trace{Name: name}
	numbers := map[uint64]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var l bodyLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return Trace{}, fmt.Errorf("sim: line %d: %w", len(t.Requests)+1, err)
		}
		text, err := render(l.Body)
		if err != nil {
			return Trace{}, fmt.Errorf("sim: line %d: %w", len(t.Requests)+1, err)
		}
		q := Request{
			At: l.Timestamp / 1000, Output: l.OutputLength, Input: (len(text) + bytesPerToken - 1) / bytesPerToken,
			Path: l.Path, Body: func() []byte { return l.Body },
		}
		chain := uint64(0)
		for len(text) > 0 {
			n := min(len(text), blockBytes)
			chain = xxhash.Sum64String(fmt.Sprint(chain) + text[:n])
			text = text[n:]
			if numbers[chain] == 0 {
				numbers[chain] = len(numbers) + 1
			}
			q.Blocks = append(q.Blocks, numbers[chain])
		}
		if len(q.Blocks) == 0 {
			continue
		}
		q.Key = q.Blocks[0]
		t.Requests = append(t.Requests, q)
	}
	if err := lines.Err(); err != nil {
		return Trace{}, fmt.Errorf("sim: %w", err)
	}
	return t, nil
}

// render is the text of a body's prompt, in the order of a chat template.
func render(body []byte) (string, error) {
	var b struct {
		Tools    json.RawMessage   `json:"tools"`
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
		Prompt   json.RawMessage   `json:"prompt"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return "", err
	}
	var out strings.Builder
	out.Write(b.Tools)
	out.Write(b.System)
	for _, m := range b.Messages {
		out.WriteString("\n")
		out.Write(m)
	}
	out.Write(b.Prompt)
	return out.String(), nil
}

// WithBodies gives every request of a trace the chat body that it could have
// come from: its head as the description of a tool, its other blocks as the
// messages of user and assistant in turn. Where the tools stand in the body is
// the client's choice.
func WithBodies(t Trace, toolsLast bool) Trace {
	out := Trace{Name: t.Name, Requests: append([]Request(nil), t.Requests...)}
	for i := range out.Requests {
		q := &out.Requests[i]
		q.Path = "/v1/chat/completions"
		q.Body = func() []byte { return chatBody(q, toolsLast) }
	}
	return out
}

func chatBody(q *Request, toolsLast bool) []byte {
	head, rest := q.Blocks[:q.Head], q.Blocks[q.Head:]
	tools := `"tools":[{"type":"function","function":{"name":"work","description":"` + textOf(head) + `"}}]`
	var messages strings.Builder
	messages.WriteString(`"messages":[`)
	for k, block := range rest {
		role := "user"
		if k%2 == 1 {
			role = "assistant"
		}
		if k > 0 {
			messages.WriteString(",")
		}
		fmt.Fprintf(&messages, `{"role":"%s","content":"%s"}`, role, textOf([]int{block}))
	}
	messages.WriteString("]")
	parts := []string{`"model":"m","stream":true`, tools, messages.String()}
	if toolsLast {
		parts[1], parts[2] = parts[2], parts[1]
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

// textOf is the text of blocks, of one length for each and without escapes.
func textOf(blocks []int) string {
	var b strings.Builder
	for _, block := range blocks {
		word := fmt.Sprintf("block %d says nothing. ", block)
		b.WriteString(strings.Repeat(word, blockBytes/len(word)+1)[:blockBytes])
	}
	return b.String()
}
