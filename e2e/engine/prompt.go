// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
)

// errNoPrompt tells that a body is JSON but holds nothing to answer.
var errNoPrompt = errors.New("engine: the body has no prompt")

// A job is what a request asks for, whatever API it came by.
type job struct {
	namespace string // model and cache salt: no cached block is shared across them
	model     string
	prompt    []byte // as the chat template renders it
	maxTokens int
	stream    bool
	usage     bool // the last event of a stream carries the usage
}

// A body has the fields of all request bodies this package understands.
// Fields whose type varies stay raw until they are rendered.
type body struct {
	Model     string `json:"model"`
	CacheSalt string `json:"cache_salt"`
	Stream    *bool  `json:"stream"`

	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	Tools        json.RawMessage `json:"tools"`
	Messages     []message       `json:"messages"`
	System       json.RawMessage `json:"system"`
	Instructions json.RawMessage `json:"instructions"`
	Prompt       json.RawMessage `json:"prompt"`
	Input        json.RawMessage `json:"input"`
	Inputs       json.RawMessage `json:"inputs"`
	Text         json.RawMessage `json:"text"`
	InputIDs     json.RawMessage `json:"input_ids"`

	limits
	Options    limits `json:"options"`
	Parameters limits `json:"parameters"`
	Sampling   limits `json:"sampling_params"`
}

// limits are the names under which APIs bound the answer's length.
type limits struct {
	MaxCompletionTokens int `json:"max_completion_tokens"`
	MaxOutputTokens     int `json:"max_output_tokens"`
	MaxTokens           int `json:"max_tokens"`
	MaxNewTokens        int `json:"max_new_tokens"`
	NumPredict          int `json:"num_predict"`
	NPredict            int `json:"n_predict"`
}

func (l limits) tokens() int {
	return cmp.Or(l.MaxCompletionTokens, l.MaxOutputTokens, l.MaxTokens, l.MaxNewTokens, l.NumPredict, l.NPredict)
}

// A message is one turn of a chat in any of the APIs' spellings.
type message struct {
	Role      string          `json:"role"`
	Type      string          `json:"type"` // items of the Responses API that are no message
	Content   json.RawMessage `json:"content"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Output    json.RawMessage `json:"output"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
}

// readJob decodes a request body for an API. An answer's length defaults to
// defaultTokens.
func readJob(a *api, raw []byte, defaultTokens int) (*job, error) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, err
	}
	prompt := a.render(&b)
	if len(prompt) == 0 {
		return nil, errNoPrompt
	}
	stream := a.streams
	if b.Stream != nil {
		stream = *b.Stream
	}
	return &job{
		namespace: b.Model + "\x00" + b.CacheSalt,
		model:     b.Model,
		prompt:    prompt,
		maxTokens: cmp.Or(b.tokens(), b.Options.tokens(), b.Parameters.tokens(), b.Sampling.tokens(), defaultTokens),
		stream:    stream,
		usage:     b.StreamOptions.IncludeUsage,
	}, nil
}

// The markers of the ChatML template, which many open models use.
const (
	turnStart = "<|im_start|>"
	turnEnd   = "<|im_end|>\n"
)

// renderChat renders messages under tools and a system text: tools first.
func renderChat(tools, system json.RawMessage, messages []message) []byte {
	if len(messages) == 0 {
		return nil
	}
	var out bytes.Buffer
	if len(tools) > 0 && string(tools) != "null" {
		out.WriteString(turnStart + "system\n# Tools\n")
		if json.Compact(&out, tools) != nil {
			out.Write(tools)
		}
		out.WriteString(turnEnd)
	}
	if len(system) > 0 {
		renderTurn(&out, &message{Role: "system", Content: system})
	}
	for i := range messages {
		renderTurn(&out, &messages[i])
	}
	out.WriteString(turnStart + "assistant\n")
	return out.Bytes()
}

func renderTurn(out *bytes.Buffer, m *message) {
	out.WriteString(turnStart + cmp.Or(m.Role, m.Type) + "\n")
	renderContent(out, m.Content)
	renderContent(out, m.Output)
	if len(m.ToolCalls) > 0 {
		json.Compact(out, m.ToolCalls) // part of a document that was decoded already
	}
	out.WriteString(m.Name + m.Arguments)
	out.WriteString(turnEnd)
}

// renderContent writes a text, or the parts of a list in order. A part that is
// no text stands as a placeholder made from all of it, as the image tokens do
// whose hash the engine mixes into the block.
func renderContent(out *bytes.Buffer, content json.RawMessage) {
	if len(content) == 0 || string(content) == "null" {
		return
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		out.WriteString(text)
		return
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		out.Write(content)
		return
	}
	for _, part := range parts {
		renderPart(out, part)
	}
}

func renderPart(out *bytes.Buffer, raw json.RawMessage) {
	var part struct {
		Type    string          `json:"type"`
		Text    *string         `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	err := json.Unmarshal(raw, &part)
	switch {
	case err == nil && part.Text != nil:
		out.WriteString(*part.Text)
	case err == nil && part.Type == "tool_result":
		renderContent(out, part.Content)
	case err == nil && part.Type == "tool_use":
		json.Compact(out, raw) // decoded just above
	default:
		sum := sha256.Sum256(raw)
		out.WriteString("<|" + part.Type + "|>")
		out.Write(sum[:])
	}
}

// renderPlain renders a prompt that no template touches: a text, token ids, or
// a list of either, which stands here as one sequence.
func renderPlain(prompt json.RawMessage) []byte {
	if len(prompt) == 0 || string(prompt) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(prompt, &text) == nil {
		return []byte(text)
	}
	var ids []uint32
	if json.Unmarshal(prompt, &ids) == nil {
		out := make([]byte, 0, len(ids)*tokenBytes)
		for _, id := range ids {
			out = binary.LittleEndian.AppendUint32(out, id)
		}
		return out
	}
	var list []json.RawMessage
	if json.Unmarshal(prompt, &list) != nil {
		return nil
	}
	var out []byte
	for _, one := range list {
		out = append(out, renderPlain(one)...)
	}
	return out
}

// renderInput renders the input of the Responses API: a text or a list of items.
func renderInput(b *body) []byte {
	var items []message
	if json.Unmarshal(b.Input, &items) != nil {
		items = []message{{Role: "user", Content: b.Input}}
	}
	if len(b.Input) == 0 {
		return nil
	}
	return renderChat(b.Tools, b.Instructions, items)
}
