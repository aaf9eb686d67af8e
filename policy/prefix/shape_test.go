// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestShapeOf(t *testing.T) {
	for path, want := range map[string]Shape{
		"/v1/chat/completions":                             Chat,
		"/v1/chat/completions?stream=1":                    Chat,
		"/v1/chat/completions/":                            Chat,
		"/v1/chat/completions/batch":                       Chat,
		"/openai/v1/chat/completions":                      Chat,
		"/openai/deployments/gpt/chat/completions?api-v=1": Chat,
		"/v1/completions":                                  Completions,
		"/v1/responses":                                    Responses,
		"/v1/responses/input_tokens":                       Responses,
		"/v1/messages":                                     Messages,
		"/anthropic/v1/messages/count_tokens":              Messages,
		"/v1/embeddings":                                   Embeddings,
		"/api/embed":                                       Embeddings,
		"/api/embeddings":                                  Embeddings,
		"/pooling":                                         Embeddings,
		"/v2/rerank":                                       Rerank,
		"/v1/score":                                        Rerank,
		"/score":                                           Rerank,
		"/generate":                                        Generate,
		"/generate_stream":                                 TGI,
		"/completion":                                      LlamaCPP,
		"/api/chat":                                        OllamaChat,
		"/api/generate":                                    OllamaGenerate,
		"/ollama/api/generate":                             OllamaGenerate,
		"/v1/models":                                       0,
		"/v1/chat/completions/x":                           0,
		"/v1/conversations/c/items":                        0,
		"/xcompletions":                                    0,
		"completions":                                      0,
		"/":                                                0,
		"":                                                 0,
	} {
		if got := ShapeOf(path); got != want {
			t.Errorf("ShapeOf(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestShapeNamesParse(t *testing.T) {
	for _, s := range allShapes {
		if got, ok := ParseShape(s.String()); got != s || !ok {
			t.Errorf("ParseShape(%q) = %v, %v", s.String(), got, ok)
		}
	}
	for _, name := range []string{"none", "", "Chat"} {
		if got, ok := ParseShape(name); ok {
			t.Errorf("ParseShape(%q) = %v, want not ok", name, got)
		}
	}
	if got := Shape(200).String(); got != "none" {
		t.Errorf("Shape(200) = %q", got)
	}
}

// shapeCases are bodies of all APIs with the canonical stream that they must give: the system
// prompt's chain, then the messages'. ⟨role⟩ stands for the end of a message with that role, + for
// fields in it, | between parts, # for the fields of a part, ~ before token ids, / after a list.
var shapeCases = []struct {
	name  string
	shape Shape
	body  string
	want  string
}{
	{"chat with string contents", Chat,
		`{"model":"m","messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"Hi"}]}`,
		"Be terse.⟨system⟩Hi⟨user⟩"},
	{"chat with one text part", Chat,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}]}`,
		"Hi⟨user⟩"},
	{"chat with text and image", Chat,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"What?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`,
		"What?|#⟨user⟩"},
	{"chat with image and text", Chat,
		`{"messages":[{"role":"user","content":[{"image_url":{"url":"https://x/y.png"},"type":"image_url"},{"text":"What?"}]}]}`,
		"#|What?⟨user⟩"},
	{"chat with audio", Chat,
		`{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}]}`,
		"#⟨user⟩"},
	{"chat with tool calls", Chat,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"22"}]}`,
		"⟨assistant+⟩22⟨tool+⟩"},
	{"chat with function role", Chat,
		`{"messages":[{"role":"assistant","function_call":{"name":"f","arguments":""}},{"role":"function","name":"f","content":"1"}]}`,
		"⟨assistant+⟩1⟨function+⟩"},
	{"chat with reasoning and refusal", Chat,
		`{"messages":[{"role":"assistant","reasoning_content":"hm","content":"a"},{"role":"assistant","refusal":"no","content":null},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]}`,
		"a⟨assistant+⟩⟨assistant+⟩#⟨assistant⟩"},
	{"chat with content before role", Chat,
		`{"messages":[{"content":"Hi","role":"developer"}]}`,
		"Hi⟨developer⟩"},
	{"chat of several lists", Chat,
		`{"messages":[[{"role":"user","content":"a"}],[{"role":"user","content":"b"}]]}`,
		"a⟨user⟩/b⟨user⟩/"},
	{"completions with a string", Completions, `{"prompt":"Once"}`, "Once⟨⟩"},
	{"completions with strings", Completions, `{"prompt":["a","b"]}`, "a⟨⟩b⟨⟩"},
	{"completions with token ids", Completions, `{"prompt":[1,22,333]}`, "~1,22,333,⟨⟩"},
	{"completions with lists of token ids", Completions, `{"prompt":[[1,2],[3]]}`, "~1,2,⟨⟩/~3,⟨⟩/"},
	{"responses with a string", Responses, `{"instructions":"Be terse.","input":"Hi"}`, "Be terse.⟨system⟩Hi⟨user⟩"},
	{"responses with items", Responses,
		`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"},{"type":"input_image","image_url":"data:,x"}]},` +
			`{"type":"reasoning","id":"r","summary":[],"encrypted_content":"g"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c","output":"ok"}]}`,
		"Hi|#⟨user⟩⟨+⟩⟨+⟩⟨+⟩"},
	{"embeddings with strings", Embeddings, `{"model":"e","input":["a","b"]}`, "a⟨⟩b⟨⟩"},
	{"embeddings with messages", Embeddings, `{"messages":[{"role":"user","content":"a"}]}`, "a⟨user⟩"},
	{"ollama embeddings", Embeddings, `{"model":"e","prompt":"a"}`, "a⟨⟩"},
	{"rerank", Rerank, `{"documents":["a",{"text":"b"}],"query":"q"}`, "a⟨⟩b⟨⟩q⟨system⟩"},
	{"score", Rerank, `{"text_1":"q","text_2":["a"]}`, "q⟨system⟩a⟨⟩"},
	{"messages with a system string", Messages,
		`{"system":"Be terse.","messages":[{"role":"user","content":"Hi"}]}`, "Be terse.⟨system⟩Hi⟨user⟩"},
	{"messages with system blocks behind", Messages,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}`,
		"Hi⟨user⟩a|b⟨system⟩"},
	{"messages with tools, thinking and images", Messages,
		`{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"x":1}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]}]}`,
		"#|a|#⟨assistant⟩#|#⟨user⟩"},
	{"messages with billing line", Messages,
		`{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1;"},{"type":"text","text":"You."}],"messages":[{"role":"user","content":"Hi"}]}`,
		"You.⟨system⟩Hi⟨user⟩"},
	{"messages that almost have a billing line", Messages,
		`{"system":"x-anthropic-bill","messages":[{"role":"user","content":"Hi"}]}`,
		"x-anthropic-bill⟨system⟩Hi⟨user⟩"},
	{"generate with text", Generate, `{"text":"a"}`, "a⟨⟩"},
	{"generate with texts", Generate, `{"text":["a","b"]}`, "a⟨⟩b⟨⟩"},
	{"generate with input ids", Generate, `{"input_ids":[1,2]}`, "~1,2,⟨⟩"},
	{"generate with prompt", Generate, `{"prompt":"a"}`, "a⟨⟩"},
	{"generate with inputs", Generate, `{"inputs":"a"}`, "a⟨⟩"},
	{"tgi", TGI, `{"inputs":"a","parameters":{"adapter_id":"l"}}`, "a⟨⟩"},
	{"llama.cpp with mixed prompt", LlamaCPP, `{"prompt":[12,"a",34]}`, "~12,⟨⟩a⟨⟩~34,⟨⟩"},
	{"ollama chat with images", OllamaChat,
		`{"model":"m","messages":[{"role":"user","content":"What?","images":["AA"]}]}`, "What?⟨user+⟩"},
	{"ollama chat with thinking", OllamaChat,
		`{"messages":[{"role":"assistant","content":"a","thinking":"hm"}]}`, "a⟨assistant+⟩"},
	{"ollama chat with tool name", OllamaChat,
		`{"messages":[{"role":"tool","tool_name":"f","content":"1"}]}`, "1⟨tool+⟩"},
	{"ollama generate", OllamaGenerate, `{"model":"m","prompt":"Why?","system":"s"}`, "Why?⟨⟩s⟨system⟩"},
}

func TestCanonicalStream(t *testing.T) {
	for _, c := range shapeCases {
		t.Run(c.name, func(t *testing.T) {
			var s Scanner
			var stream []byte
			s.Reset(&Config{}, c.shape)
			s.Tap(&stream)
			s.Write([]byte(c.body))
			s.Close()
			if s.Reason() != ReasonNone {
				t.Fatalf("reason %v", s.Reason())
			}
			if got := readable(stream); got != c.want {
				t.Errorf("stream %s, want %s", got, c.want)
			}
			if got, want := outcomeOf(&s), slowScan(Config{}, c.shape, []byte(c.body)); differ(got, want) != "" {
				t.Errorf("%s differ from the reference:\n got %+v\nwant %+v", differ(got, want), got, want)
			}
		})
	}
}

// readable writes a canonical stream as shapeCases has it.
func readable(stream []byte) string {
	roles := map[uint64]string{0: ""}
	for _, name := range []string{"system", "developer", "user", "assistant", "tool", "function"} {
		roles[hashString(0, name)] = name
	}
	var b strings.Builder
	for i := 0; i < len(stream); i++ {
		if stream[i] != frameMark {
			b.WriteByte(stream[i])
			continue
		}
		i++
		switch stream[i] {
		case frameMessage:
			b.WriteString("⟨" + roles[binary.LittleEndian.Uint64(stream[i+1:])])
			if binary.LittleEndian.Uint64(stream[i+9:]) != 0 {
				b.WriteByte('+')
			}
			b.WriteString("⟩")
			i += 16
		case framePart:
			b.WriteByte('|')
		case frameFields:
			b.WriteByte('#')
			i += 8
		case frameTokens:
			b.WriteByte('~')
		case frameList:
			b.WriteByte('/')
		}
	}
	return b.String()
}
