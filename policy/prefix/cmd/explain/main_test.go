// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testBodies = "../../testdata/bodies"

// explain runs the command on bodies and returns what it prints.
func explain(t *testing.T, o options, bodies ...string) string {
	t.Helper()
	var files []string
	for _, body := range bodies {
		file := filepath.Join(t.TempDir(), "body.json")
		if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var b strings.Builder
	if err := run(&b, o, files); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExplainOneBody(t *testing.T) {
	var b strings.Builder
	if err := run(&b, options{}, []string{filepath.Join(testBodies, "chat.agent.json")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"shape chat, reason none", `model "m"`, "fields model+salt+tools", "2310 bytes …", "end of message, tool, fields", "   2646 dcc2410afd881b07",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
}

func TestExplainTwoBodies(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []string
	}{
		{"other spelling", `{"messages":[{"role":"user","content":"A"}]}`, `{"messages":[{"content":"\u0041","role":"user"}]}`,
			[]string{"1 leading blocks are equal", "the streams are equal", "tags equal"}},
		{"other character", `{"messages":[{"role":"user","content":"same until here: x"}]}`, `{"messages":[{"role":"user","content":"same until here: y"}]}`,
			[]string{"0 leading blocks", "conversation keys differ", `at byte 17 of the text: "same until here: " | "x"`}},
		{"other role", `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"tool","content":"a"}]}`,
			[]string{"part in piece 2", "first  -- end of message, user", "second -- end of message, tool"}},
		{"one more message", `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`,
			[]string{"first  has ended", `"" | "b"`}},
		{"system prompt in either place", `{"system":"s","messages":[{"role":"user","content":"a"}],"max_tokens":1}`, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"system":"s"}`,
			[]string{"shape messages", "2 leading blocks are equal", "the streams are equal"}},
		{"other model", `{"model":"a","prompt":"p"}`, `{"model":"b","prompt":"p"}`, []string{"shape completions", "tags differ", "the streams are equal"}},
		{"broken", `{"prompt":"p"`, `{"prompt":[[1],"a"]}`, []string{"reason truncated", "-- token ids", "-- end of list"}},
	} {
		got := explain(t, options{}, c.a, c.b)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in:\n%s", c.name, want, got)
			}
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	file := filepath.Join(testBodies, "chat.short.json")
	for _, c := range []struct {
		name  string
		o     options
		files []string
	}{
		{"no body", options{}, nil},
		{"three bodies", options{}, []string{file, file, file}},
		{"missing file", options{}, []string{"nowhere.json"}},
		{"unknown shape", options{shape: "x"}, []string{file}},
		{"unknown path", options{path: "/v1/models"}, []string{file}},
	} {
		if err := run(&strings.Builder{}, c.o, c.files); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	if got := explain(t, options{path: "/v1/completions", full: true}, `{"prompt":"p"}`); !strings.Contains(got, "shape completions") {
		t.Errorf("path is not heeded:\n%s", got)
	}
}
