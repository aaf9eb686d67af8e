// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
)

func TestPromptOfEachAPI(t *testing.T) {
	const user = "<|im_start|>user\nhi<|im_end|>\n"
	const open = "<|im_start|>assistant\n"
	const system = "<|im_start|>system\nbe brief<|im_end|>\n"
	const tools = "<|im_start|>system\n# Tools\n[{\"name\":\"f\"}]<|im_end|>\n"
	for _, c := range []struct{ name, path, body, want string }{
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}]}`, user + open},
		{
			"tools stand first wherever the key is", "/v1/chat/completions",
			`{"messages":[{"role":"system","content":"be brief"},{"content":"hi","role":"user"}],"tools":[ {"name": "f"} ]}`,
			tools + system + user + open,
		},
		{
			"text parts are joined", "/v1/chat/completions",
			`{"messages":[{"role":"user","content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}]}`, user + open,
		},
		{
			"tool calls are part of the turn", "/v1/chat/completions",
			`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id": "1"}]}]}`,
			`<|im_start|>assistant` + "\n" + `[{"id":"1"}]<|im_end|>` + "\n" + open,
		},
		{"path before the known end", "/team-a/v1/completions", `{"prompt":"hi"}`, "hi"},
		{"token ids", "/v1/completions", `{"prompt":[1,258]}`, "\x01\x00\x00\x00\x02\x01\x00\x00"},
		{"list of prompts", "/v1/completions", `{"prompt":["a","b"]}`, "ab"},
		{"embeddings", "/v1/embeddings", `{"input":"hi"}`, "hi"},
		{"messages", "/v1/messages", `{"system":"be brief","messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f"}]}`, tools + system + user + open},
		{"responses with a text", "/v1/responses", `{"instructions":"be brief","input":"hi"}`, system + user + open},
		{"responses with items", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`, user + open},
		{"SGLang", "/generate", `{"text":"hi"}`, "hi"},
		{"TGI", "/generate", `{"inputs":"hi"}`, "hi"},
		{"llama.cpp", "/completion", `{"prompt":"hi"}`, "hi"},
		{"Ollama chat", "/api/chat", `{"messages":[{"role":"user","content":"hi"}]}`, user + open},
		{"Ollama generate is not SGLang's", "/api/generate", `{"system":"s ","prompt":"hi","text":"no"}`, "s hi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := readJob(apiOf(c.path), []byte(c.body), 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(j.prompt); got != c.want {
				t.Errorf("prompt = %q, want %q", got, c.want)
			}
		})
	}
}

func TestImagesDiffer(t *testing.T) {
	prompt := func(url string) string {
		body := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]}`
		j, err := readJob(apiOf("/v1/chat/completions"), []byte(body), 1)
		if err != nil {
			t.Fatal(err)
		}
		return string(j.prompt)
	}
	if prompt("a") == prompt("b") {
		t.Error("two images give the same prompt")
	}
}

func TestLimitsOfTheAnswer(t *testing.T) {
	for _, c := range []struct {
		name, path, body string
		want             int
	}{
		{"none", "/v1/completions", `{"prompt":"a"}`, 7},
		{"max_tokens", "/v1/completions", `{"prompt":"a","max_tokens":3}`, 3},
		{"max_completion_tokens wins", "/v1/completions", `{"prompt":"a","max_tokens":3,"max_completion_tokens":4}`, 4},
		{"TGI", "/generate", `{"inputs":"a","parameters":{"max_new_tokens":5}}`, 5},
		{"Ollama", "/api/generate", `{"prompt":"a","options":{"num_predict":6}}`, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := readJob(apiOf(c.path), []byte(c.body), 7)
			if err != nil {
				t.Fatal(err)
			}
			if j.maxTokens != c.want {
				t.Errorf("maxTokens = %d, want %d", j.maxTokens, c.want)
			}
		})
	}
}

func TestBodiesWithoutAPrompt(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON": "hello", "cut short": `{"messages":[{"role":"us`, "no prompt": `{"model":"m"}`, "empty": "", "no messages": `{"messages":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if j, err := readJob(apiOf("/v1/chat/completions"), []byte(body), 1); err == nil {
				t.Errorf("prompt %q from a body that has none", j.prompt)
			}
		})
	}
}
