// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// writer spells a tree as JSON in one of the many ways that mean the same.
type writer struct {
	r     *rand.Rand
	b     strings.Builder
	depth int // open objects
}

var spaces = []string{"", "", "", " ", "\n", "\t", "\r\n  ", strings.Repeat(" ", 40)}

func (w *writer) space() { w.b.WriteString(spaces[w.r.IntN(len(spaces))]) }

// value writes v. Keys are shuffled wherever their order does not count.
func (w *writer) value(v *tree, ordered bool) {
	w.space()
	switch v.kind {
	case 's':
		w.text(v.text)
	case 'o':
		w.object(v, ordered)
	case 'a':
		w.b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				w.b.WriteByte(',')
			}
			w.value(item, ordered)
		}
		w.space()
		w.b.WriteByte(']')
	default:
		w.b.WriteString(v.text)
	}
	w.space()
}

func (w *writer) object(v *tree, ordered bool) {
	order := make([]int, len(v.items))
	for i := range order {
		order[i] = i
	}
	if !ordered {
		w.r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	w.b.WriteByte('{')
	for n, i := range order {
		if n > 0 {
			w.b.WriteByte(',')
		}
		w.space()
		w.text(v.keys[i])
		w.space()
		w.b.WriteByte(':')
		inner := ordered
		switch v.keys[i] {
		case "parameters", "input_schema", "arguments":
			inner = true
		case "input":
			inner = ordered || w.depth > 0
		}
		w.depth++
		w.value(v.items[i], inner)
		w.depth--
	}
	w.space()
	w.b.WriteByte('}')
}

// text writes a string, each rune as itself or in one of its escapes.
func (w *writer) text(text string) {
	escaping := w.r.IntN(3)
	w.b.WriteByte('"')
	for _, r := range text {
		must := r == '"' || r == '\\' || r < ' '
		switch {
		case !must && (escaping == 0 || w.r.IntN(8) > 0):
			w.b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&w.b, `\u%04x\u%04X`, high, low)
		case r == '"' || r == '\\' || r == '/':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r == '\n' && w.r.IntN(2) == 0:
			w.b.WriteString(`\n`)
		default:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		}
	}
	w.b.WriteByte('"')
}

func respell(r *rand.Rand, v *tree) []byte {
	w := writer{r: r}
	w.value(v, false)
	return []byte(w.b.String())
}

// irrelevant are fields that no template shows.
const irrelevant = `"temperature":0.7,"top_p":1e-1,"stream":true,"max_tokens":100,"user":"u","seed":7,"stop":["a","b"],` +
	`"metadata":{"messages":[{"role":"user"}],"model":"x"},"response_format":{"type":"json_schema","json_schema":{"tools":[1]}},` +
	`"logit_bias":{"1":-100},"tool_choice":"auto","guided_json":"{}","priority":0,"request_id":"r",`

// metaBodies are bodies that have something of everything, long enough for several blocks.
func metaBodies() map[Shape]string {
	long := strings.Repeat("Ünicode \"text\", code {\\n}\tand 汉字 \U0001F600. ", 60)
	quoted := func(text string) string {
		w := writer{r: rand.New(rand.NewPCG(0, 0))}
		w.text(text)
		return w.b.String()
	}
	l := quoted(long)
	tools := `"tools":[{"type":"function","function":{"name":"f","description":` + l + `,"parameters":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}},"required":["a"]}}}]`
	return map[Shape]string{
		Chat: `{"model":"m","messages":[{"role":"system","content":` + l + `},{"role":"user","content":[{"type":"text","text":` + l + `},{"type":"image_url","image_url":{"url":"data:,x","detail":"low"}}]},` +
			`{"role":"assistant","content":"ok","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":` + l + `}],` + tools + `,"cache_salt":"s","chat_template_kwargs":{"a":1,"b":[true,null]}}`,
		Completions: `{"model":"m","prompt":[` + l + `,` + l + `],"cache_salt":"s"}`,
		Responses: `{"model":"m","instructions":` + l + `,"input":[{"role":"user","content":[{"type":"input_text","text":` + l + `}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":` + l + `}],` +
			`"tools":[{"type":"function","name":"f","parameters":{"b":1,"a":2}}],"previous_response_id":"r"}`,
		Embeddings: `{"model":"m","input":[` + l + `,"b"]}`,
		Rerank:     `{"model":"m","query":` + l + `,"documents":[` + l + `,{"text":"b"}]}`,
		Messages: `{"model":"m","system":[{"type":"text","text":` + l + `},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":` + l + `},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":` + l + `,"signature":"s"},{"type":"tool_use","id":"t","name":"f","input":{"b":1,"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":` + l + `}]}],` +
			`"tools":[{"name":"f","input_schema":{"b":1,"a":2},"cache_control":{"type":"ephemeral","ttl":"1h"}}],"thinking":{"type":"enabled","budget_tokens":1024}}`,
		Generate:       `{"text":` + l + `,"sampling_params":{"temperature":0},"lora_path":"l","extra_key":"x"}`,
		TGI:            `{"inputs":` + l + `,"parameters":{"adapter_id":"l","top_k":1}}`,
		LlamaCPP:       `{"prompt":[1,2,` + l + `],"cache_prompt":true}`,
		OllamaChat:     `{"model":"m","messages":[{"role":"user","content":` + l + `,"images":["AA","BB"]}],"think":true,"options":{"num_ctx":1}}`,
		OllamaGenerate: `{"model":"m","system":` + l + `,"prompt":` + l + `,"template":"t"}`,
	}
}

// TestSpellingsAreEqual respells a body of each shape many times: other key order, white space,
// escapes, and fields that do not matter.
func TestSpellingsAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	bodies := metaBodies()
	for _, shape := range allShapes {
		body := bodies[shape]
		want, reason := scan(shape, body)
		if !want.ok || len(want.hashes) < 2 {
			t.Fatalf("%v: reason %v, %d hashes, want a fingerprint of several blocks", shape, reason, len(want.hashes))
		}
		v := parseTree([]byte("{" + irrelevant + body[1:]))
		for range 200 {
			again := respell(r, v)
			if got, reason := scan(shape, string(again)); differ(got, want) != "" {
				t.Fatalf("%v: %s differ (reason %v) for the spelling\n%s", shape, differ(got, want), reason, again)
			}
		}
	}
}

// TestRealBodiesRespelled does the same to the public data.
func TestRealBodiesRespelled(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	respelled := 0
	for _, file := range bodies(t, "requests/*/*.json", 300) {
		body := readFile(t, file)
		shape := guessShape(file, body)
		want, _ := scan(shape, string(body))
		v := parseTree(body)
		if !want.ok || len(body) > 10_000 || strings.Contains(file, "/dup-") {
			continue
		}
		respelled++
		for range 5 {
			again := respell(r, v)
			if got, reason := scan(shape, string(again)); differ(got, want) != "" {
				t.Fatalf("%s as %v: %s differ (reason %v) for the spelling\n%s", file, shape, differ(got, want), reason, again)
			}
		}
	}
	if respelled < 250 {
		t.Errorf("only %d bodies have a fingerprint", respelled)
	}
}

// TestChangesAreSeen changes what the prompt depends on, one thing at a time.
func TestChangesAreSeen(t *testing.T) {
	const (
		hashes = 1 << iota
		tag
		key
	)
	chat := `{"model":"m","messages":[{"role":"system","content":"You help."},{"role":"user","content":"ab"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"a":1,"b":2}}}],"cache_salt":"s"}`
	messages := `{"model":"m","system":"You help.","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"tool_use","id":"t","name":"f","input":{"x":1,"y":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}]}`
	responses := `{"model":"m","instructions":"You help.","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"ok"}],"reasoning":{"effort":"low"}}`
	for _, c := range []struct {
		name     string
		shape    Shape
		body     string
		old, new string
		want     int
	}{
		{"role", Chat, chat, `"user","content":"ab"`, `"tool","content":"ab"`, hashes | key},
		{"first role", Chat, chat, `"system"`, `"developer"`, hashes | key},
		{"one character of the system prompt", Chat, chat, "You help.", "You help!", hashes | key},
		{"one character behind the first user message", Chat, chat, `"content":"c"`, `"content":"C"`, hashes},
		{"order of messages", Chat, chat, `{"role":"user","content":"ab"},{"role":"assistant","content":"c"}`, `{"role":"assistant","content":"c"},{"role":"user","content":"ab"}`, hashes | key},
		{"character moved to the next message", Chat, chat, `"ab"},{"role":"assistant","content":"c"`, `"a"},{"role":"assistant","content":"bc"`, hashes | key},
		{"message split in two", Chat, chat, `{"role":"user","content":"ab"}`, `{"role":"user","content":"a"},{"role":"user","content":"b"}`, hashes | key},
		{"text split into two parts", Chat, chat, `"ab"`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, hashes | key},
		{"name of a message", Chat, chat, `"content":"ab"`, `"content":"ab","name":"n"`, hashes | key},
		{"model", Chat, chat, `"m"`, `"n"`, tag},
		{"adapter", Chat, chat, `"model"`, `"lora_path":"l","model"`, tag},
		{"salt", Chat, chat, `"s"}`, `"t"}`, tag},
		{"extra key", Chat, chat, `"cache_salt":"s"`, `"cache_salt":"s","extra_key":"s"`, tag},
		{"salt in the other spelling", Chat, chat, `"cache_salt"`, `"extra_key"`, tag},
		{"name of a tool", Chat, chat, `"name":"f"`, `"name":"g"`, tag},
		{"second tool", Chat, chat, `"tools":[`, `"tools":[{"type":"function","function":{"name":"e"}},`, tag},
		{"order of a tool's parameters", Chat, chat, `"a":1,"b":2`, `"b":2,"a":1`, tag},
		{"number that became a string", Chat, chat, `"a":1`, `"a":"1"`, tag},
		{"template arguments", Chat, chat, `"model"`, `"chat_template_kwargs":{"enable_thinking":false},"model"`, tag},
		{"reasoning effort", Chat, chat, `"model"`, `"reasoning_effort":"low","model"`, tag},
		{"thinking switch", Chat, chat, `"model"`, `"enable_thinking":false,"model"`, tag},
		{"truncation", Chat, chat, `"model"`, `"truncate_prompt_tokens":100,"model"`, tag},
		{"documents", Chat, chat, `"model"`, `"documents":[{"text":"x"}],"model"`, tag},
		{"system prompt of messages", Messages, messages, "You help.", "You help!", hashes},
		{"thinking", Messages, messages, `"thinking":"x"`, `"thinking":"y"`, hashes},
		{"tool input", Messages, messages, `"x":1`, `"x":2`, hashes},
		{"order of a tool's input", Messages, messages, `"x":1,"y":2`, `"y":2,"x":1`, hashes},
		{"tool result", Messages, messages, `"ok"`, `"no"`, hashes},
		{"kind of a part", Messages, messages, `"tool_result"`, `"other"`, hashes},
		{"instructions", Responses, responses, "You help.", "You help!", hashes},
		{"arguments of an item", Responses, responses, `"{}"`, `"{ }"`, hashes},
		{"output of an item", Responses, responses, `"ok"`, `"no"`, hashes},
		{"effort", Responses, responses, `"low"`, `"high"`, tag},
		{"previous response", Responses, responses, `"model"`, `"previous_response_id":"r","model"`, tag},
		{"image", Chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"}}]}]}`, `"a"`, `"b"`, hashes | key},
		{"token ids joined", Completions, `{"prompt":[1,23]}`, `1,23`, `12,3`, hashes | key},
		{"token ids as text", Completions, `{"prompt":[1,2]}`, `[1,2]`, `"1,2,"`, hashes | key},
		{"prompts of a batch joined", Completions, `{"prompt":["a","b"]}`, `"a","b"`, `"ab"`, hashes | key},
		{"lists of token ids regrouped", Completions, `{"prompt":[[1,2],[3]]}`, `[1,2],[3]`, `[1],[2,3]`, hashes | key},
		{"adapter of TGI", TGI, `{"inputs":"a","parameters":{"adapter_id":"l"}}`, `"l"`, `"k"`, tag},
		{"images of Ollama", OllamaChat, `{"messages":[{"role":"user","content":"a","images":["x"]}]}`, `"x"`, `"y"`, hashes | key},
		{"query", Rerank, `{"query":"q","documents":["a"]}`, `"q"`, `"r"`, hashes},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := strings.Replace(c.body, c.old, c.new, 1)
			if changed == c.body {
				t.Fatalf("%q is not in the body", c.old)
			}
			a, _ := scan(c.shape, c.body)
			b, reason := scan(c.shape, changed)
			if !a.ok || !b.ok {
				t.Fatalf("no fingerprint, reason %v", reason)
			}
			got := 0
			if !slices.Equal(a.hashes, b.hashes) {
				got |= hashes
			}
			if a.tag.Hash != b.tag.Hash {
				got |= tag
			}
			if a.marks.Key != b.marks.Key {
				got |= key
			}
			if got != c.want {
				t.Errorf("changed %03b, want %03b (key, tag, hashes)", got, c.want)
			}
		})
	}
}

// TestEqualForms are pairs that engines render alike.
func TestEqualForms(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape Shape
		a, b  string
	}{
		{"string and one text part", Chat, `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`},
		{"null and missing content", Chat, `{"messages":[{"role":"user","content":null}]}`, `{"messages":[{"role":"user"}]}`},
		{"null and missing tools", Chat, `{"tools":null,"messages":[{"role":"user"}]}`, `{"messages":[{"role":"user"}]}`},
		{"no and missing tool calls", Chat, `{"messages":[{"role":"user","tool_calls":[]}]}`, `{"messages":[{"role":"user"}]}`},
		{"model twice", Chat, `{"model":"a","model":"b","messages":[{"role":"user"}]}`, `{"model":"b","messages":[{"role":"user"}]}`},
		{"string and one string in a list", Completions, `{"prompt":"a"}`, `{"prompt":["a"]}`},
		{"string and user message", Responses, `{"input":"a"}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]}]}`},
		{"billing lines of two requests", Messages, `{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=1;"},{"text":"a"}],"messages":[{"role":"user"}]}`,
			`{"system":[{"type":"text","text":"x-anthropic-billing-header: cch=2;"},{"text":"a"}],"messages":[{"role":"user"}]}`},
		{"cache_control moved", Messages, `{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`, `{"messages":[{"role":"user","content":"a"}]}`},
		{"lone surrogate and U+FFFD", Completions, `{"prompt":"\ud800"}`, `{"prompt":"\ufffd"}`},
	} {
		a, _ := scan(c.shape, c.a)
		b, _ := scan(c.shape, c.b)
		a.tag.Seen, b.tag.Seen = 0, 0
		if !a.ok || differ(a, b) != "" {
			t.Errorf("%s: %q differ\n%+v\n%+v", c.name, differ(a, b), a, b)
		}
	}
}

// TestGrowingConversation adds turns: the hashes of the shorter body up to the end of its last
// message lead those of the longer one.
func TestGrowingConversation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		var turns []string
		var before outcome
		for i := range 12 {
			role := []string{"user", "assistant"}[i%2]
			text := strings.Repeat(string(rune('a'+r.IntN(26)))+"漢 ", r.IntN(3000))
			turns = append(turns, fmt.Sprintf(`{"role":%q,"content":%q}`, role, text))
			if !utf8.ValidString(text) {
				t.Fatal("bad test text")
			}
			o, reason := scan(Chat, `{"messages":[`+strings.Join(turns, ",")+`],"model":"m"}`)
			n := len(before.hashes)
			if !o.ok || n > len(o.hashes) || !slices.Equal(o.hashes[:n], before.hashes) || !slices.Equal(o.ends[:n], before.ends) {
				t.Fatalf("turn %d: reason %v, the %d blocks before are not the first of %d", i, reason, n, len(o.hashes))
			}
			if i > 0 && o.marks.Key != before.marks.Key {
				t.Fatalf("turn %d has another conversation key", i)
			}
			before = o
		}
	}
}
