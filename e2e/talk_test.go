// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const chatPath = "/v1/chat/completions"

// A talk is a conversation as a client holds it.
type talk struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Tokens   int       `json:"max_tokens"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// newTalk starts a conversation; equal numbers give equal ones.
func newTalk(number int) *talk {
	return &talk{Model: "sim", Tokens: 20, Messages: []message{
		{"system", "You are a helpful assistant. " + prose(-1, 600)},
		{"user", fmt.Sprintf("Question %d: ", number) + prose(number, 1500)},
	}}
}

func (c *talk) body(t *testing.T) string {
	t.Helper()
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// reply adds the answer and the next question.
func (c *talk) reply(t *testing.T, a *answer) {
	t.Helper()
	var out struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(a.body, &out); err != nil || len(out.Choices) == 0 {
		t.Fatalf("no answer in %.200q: %v", a.body, err)
	}
	c.Messages = append(c.Messages,
		message{"assistant", out.Choices[0].Message.Content},
		message{"user", prose(len(c.Messages), 700)})
}

// tools makes n tools with descriptions of their own.
func tools(seed, n int) []tool {
	var out []tool
	for i := range n {
		out = append(out, tool{"function", function{fmt.Sprintf("tool_%d_%d", seed, i), prose(seed*100+i, 300)}})
	}
	return out
}

// prose returns n bytes of text that a seed determines, with what makes JSON
// spell characters in its own way.
func prose(seed, n int) string {
	words := strings.Fields("alpha beta gamma delta \"quoted\" back\\slash new\nline tab\tbed Zürich 東京 🙂 <tag> & end.")
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[random.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}
