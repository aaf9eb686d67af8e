// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"strings"
)

// An api is one of the HTTP APIs: how its body becomes a prompt and how its
// answers look.
type api struct {
	render  func(*body) []byte
	streams bool // where the body doesn't say
	silent  bool // nothing is decoded (embeddings)
	lines   bool // a stream is JSON lines instead of server-sent events

	whole func(*answer) any
	delta func(a *answer, text string) any
	last  func(*answer) []any // what ends a stream; strings stand as they are
}

// apis by the end of their path. Only the OpenAI ones are answered field by
// field; the others carry text and usage in their own names, no more.
var apis = map[string]*api{
	"/v1/chat/completions": {
		render: func(b *body) []byte { return renderChat(b.Tools, nil, b.Messages) },
		whole:  chatWhole, delta: chatDelta, last: chatLast,
	},
	"/v1/completions": {
		render: func(b *body) []byte { return renderPlain(b.Prompt) },
		whole:  textWhole, delta: textDelta, last: textLast,
	},
	"/v1/embeddings": {
		render: func(b *body) []byte { return renderPlain(b.Input) },
		silent: true, whole: embeddingsWhole,
	},
	"/v1/responses": {
		render: renderInput,
		whole:  responsesWhole, delta: responsesDelta, last: responsesLast,
	},
	"/v1/messages": {
		render: func(b *body) []byte { return renderChat(b.Tools, b.System, b.Messages) },
		whole:  messagesWhole, delta: messagesDelta, last: messagesLast,
	},
	"/generate": { // SGLang's text, TGI's inputs, vLLM's prompt
		render: renderFirst,
		whole:  plainWhole("text"), delta: plainDelta("text"), last: plainLast,
	},
	"/completion": { // llama.cpp
		render: func(b *body) []byte { return renderPlain(b.Prompt) },
		whole:  plainWhole("content"), delta: plainDelta("content"), last: plainLast,
	},
	"/api/chat": { // Ollama
		render:  func(b *body) []byte { return renderChat(b.Tools, nil, b.Messages) },
		streams: true, lines: true,
		whole: ollamaWhole, delta: ollamaDelta, last: ollamaLast,
	},
	"/api/generate": {
		render:  func(b *body) []byte { return append(renderPlain(b.System), renderPlain(b.Prompt)...) },
		streams: true, lines: true,
		whole: ollamaWhole, delta: ollamaDelta, last: ollamaLast,
	},
}

// apiOf returns the API that a path ends in, or nil. The longest end wins:
// /api/generate also ends in /generate.
func apiOf(path string) *api {
	longest := ""
	for end := range apis {
		if strings.HasSuffix(path, end) && len(end) > len(longest) {
			longest = end
		}
	}
	return apis[longest]
}

// renderFirst renders the first prompt there is under the names that the
// engines' own generate APIs use.
func renderFirst(b *body) []byte {
	for _, prompt := range []json.RawMessage{b.Text, b.InputIDs, b.Inputs, b.Prompt} {
		if out := renderPlain(prompt); len(out) > 0 {
			return out
		}
	}
	return nil
}

// An answer is what a job came to; text grows while it is decoded.
type answer struct {
	id      string
	model   string
	created int64
	text    string
	prompt  int // tokens of the prompt
	cached  int // of those, the tokens found in the cache
	output  int // tokens of the text
	usage   bool
}

type object = map[string]any

func (a *answer) openAIUsage() object {
	return object{
		"prompt_tokens":         a.prompt,
		"completion_tokens":     a.output,
		"total_tokens":          a.prompt + a.output,
		"prompt_tokens_details": object{"cached_tokens": a.cached},
	}
}

func (a *answer) openAI(kind string, choices ...any) object {
	if choices == nil {
		choices = []any{}
	}
	return object{"id": a.id, "object": kind, "created": a.created, "model": a.model, "choices": choices}
}

func chatWhole(a *answer) any {
	out := a.openAI("chat.completion", object{
		"index": 0, "finish_reason": "stop",
		"message": object{"role": "assistant", "content": a.text},
	})
	out["usage"] = a.openAIUsage()
	return out
}

func chatDelta(a *answer, text string) any {
	return a.openAI("chat.completion.chunk", object{
		"index": 0, "finish_reason": nil,
		"delta": object{"role": "assistant", "content": text},
	})
}

func chatLast(a *answer) []any {
	end := a.openAI("chat.completion.chunk", object{"index": 0, "finish_reason": "stop", "delta": object{}})
	return a.withUsage("chat.completion.chunk", end)
}

func textWhole(a *answer) any {
	out := a.openAI("text_completion", object{"index": 0, "finish_reason": "stop", "text": a.text})
	out["usage"] = a.openAIUsage()
	return out
}

func textDelta(a *answer, text string) any {
	return a.openAI("text_completion", object{"index": 0, "finish_reason": nil, "text": text})
}

func textLast(a *answer) []any {
	return a.withUsage("text_completion", a.openAI("text_completion", object{"index": 0, "finish_reason": "stop", "text": ""}))
}

// withUsage ends an OpenAI stream: the usage comes in an event of its own,
// without choices, and only where the request asks for it.
func (a *answer) withUsage(kind string, end object) []any {
	events := []any{end}
	if a.usage {
		usage := a.openAI(kind)
		usage["usage"] = a.openAIUsage()
		events = append(events, usage)
	}
	return append(events, "[DONE]")
}

func embeddingsWhole(a *answer) any {
	return object{
		"object": "list", "model": a.model, "usage": a.openAIUsage(),
		"data": []any{object{"object": "embedding", "index": 0, "embedding": []float64{0}}},
	}
}

func responsesWhole(a *answer) any {
	return object{
		"id": a.id, "object": "response", "created_at": a.created, "model": a.model, "status": "completed",
		"output": []any{object{
			"type": "message", "role": "assistant",
			"content": []any{object{"type": "output_text", "text": a.text}},
		}},
		"usage": object{
			"input_tokens": a.prompt, "output_tokens": a.output, "total_tokens": a.prompt + a.output,
			"input_tokens_details": object{"cached_tokens": a.cached},
		},
	}
}

func responsesDelta(_ *answer, text string) any {
	return object{"type": "response.output_text.delta", "delta": text}
}

func responsesLast(a *answer) []any {
	return []any{object{"type": "response.completed", "response": responsesWhole(a)}}
}

func messagesWhole(a *answer) any {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "stop_reason": "end_turn",
		"content": []any{object{"type": "text", "text": a.text}},
		"usage":   a.messagesUsage(),
	}
}

func (a *answer) messagesUsage() object {
	return object{
		"input_tokens": a.prompt - a.cached, "cache_read_input_tokens": a.cached, "output_tokens": a.output,
	}
}

func messagesDelta(_ *answer, text string) any {
	return object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": text}}
}

func messagesLast(a *answer) []any {
	return []any{
		object{"type": "message_delta", "delta": object{"stop_reason": "end_turn"}, "usage": a.messagesUsage()},
		object{"type": "message_stop"},
	}
}

func plainWhole(field string) func(*answer) any {
	return func(a *answer) any {
		return object{field: a.text, "meta_info": object{
			"prompt_tokens": a.prompt, "completion_tokens": a.output, "cached_tokens": a.cached,
		}}
	}
}

func plainDelta(field string) func(*answer, string) any {
	return func(_ *answer, text string) any { return object{field: text} }
}

func plainLast(*answer) []any { return []any{"[DONE]"} }

func ollamaWhole(a *answer) any {
	return object{
		"model": a.model, "done": true, "response": a.text,
		"message":           object{"role": "assistant", "content": a.text},
		"prompt_eval_count": a.prompt - a.cached, "eval_count": a.output,
	}
}

func ollamaDelta(a *answer, text string) any {
	return object{
		"model": a.model, "done": false, "response": text,
		"message": object{"role": "assistant", "content": text},
	}
}

func ollamaLast(a *answer) []any {
	return []any{object{
		"model": a.model, "done": true, "prompt_eval_count": a.prompt - a.cached, "eval_count": a.output,
	}}
}
