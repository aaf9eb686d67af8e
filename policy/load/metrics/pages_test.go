// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// values are the fields that a page shows; all others must be unknown.
type values map[Field]float64

// page is a file of the shared data and what a reader of it finds there.
type page struct {
	file   string
	engine Engine
	want   values

	adapters string // with Adapters in want, whose value is MaxAdapters
	unusable int
}

var pages = []page{
	{file: "vllm-1.txt", engine: VLLM, want: values{
		Waiting: 5, Running: 3, KVUse: 0.0026235242675994863, KVTokens: 73184, // 4574 × 16
		PromptTokens: 90, GenerationTokens: 2546, StartTime: 1723656838.94}},
	{file: "vllm-3.txt", engine: VLLM, want: values{Waiting: 0, Running: 0, KVUse: 0}},
	{file: "vllm-4.txt", engine: VLLM, want: values{
		Waiting: 2, Running: 3, PrefixQueries: 0, PrefixHits: 0}},
	{file: "vllm-5-dp2.txt", engine: VLLM, want: values{
		Waiting: 0, Running: 2, KVUse: 0.25, PromptTokens: 128000, GenerationTokens: 200}},
	{file: "vllm-6-hostile.txt", engine: VLLM, unusable: 2, want: values{
		Waiting: 2, Running: 4, KVUse: 0.6665, PromptTokens: 1234}},
	{file: "vllm-7-lora.txt", engine: VLLM, want: values{Adapters: 2}, adapters: ""},
	{file: "vllm-8-lora-v0.txt", engine: VLLM, want: values{Adapters: 0}, adapters: ""},
	{file: "vllm-9-created.txt", engine: VLLM, want: values{Waiting: 144, Running: 3}},
	{file: "vllm-10-full-v0.txt", engine: VLLM, unusable: 1, adapters: "", want: values{
		Waiting: 0, Running: 0, KVUse: 0, KVTokens: 1308272, // 81767 × 16
		PromptTokens: 148, GenerationTokens: 955, Adapters: 0}},
	{file: "vllm-11-live.txt", engine: VLLM, want: values{
		Waiting: 0, Running: 2, KVUse: 0.314, KVTokens: 102400, // 6400 × 16
		PromptTokens: 9302, GenerationTokens: 18461}},
	{file: "vllm-13-dp2.txt", engine: VLLM, want: values{
		Waiting: 2, Running: 8, KVUse: 0.5, PrefixQueries: 1500, PrefixHits: 1200}},
	{file: "vllm-mindie-1.txt", engine: MindIE, want: values{Waiting: 8, Running: 3, KVUse: 0.42}},
	{file: "sglang-1.txt", engine: SGLang, want: values{
		Waiting: 2826, Running: 162, KVUse: 0.28, KVUsed: 123859, HitRate: 0.007507552643049313,
		PromptTokens: 8128902, GenerationTokens: 7557572}},
	{file: "sglang-2-router-aggregated.txt", engine: SGLang, want: values{ // twice sglang-1
		Waiting: 5652, Running: 324, KVUse: 0.28, KVUsed: 247718, HitRate: 0.007507552643049313,
		PromptTokens: 16257804, GenerationTokens: 15115144}},
	{file: "sglang-3-dp2-tp4.txt", engine: SGLang, want: values{Waiting: 4, Running: 2, HitRate: 0}},
	{file: "sglang-5-underscore.txt", engine: SGLang, want: values{
		Waiting: 7, Running: 3, KVUse: 0.94, HitRate: 0.62}},
	{file: "sglang-7-label-less.txt", engine: SGLang, want: values{
		Waiting: 0, Running: 0, GenerationTokens: 5}},
	{file: "sglang-8-2024-name-label.txt", engine: SGLang, want: values{
		Waiting: 0, KVUse: 0, KVTokens: 570979, MaxRunning: 2231, HitRate: 0.8758777633289988}},
	{file: "sglang-9-chimera.txt", engine: SGLang, want: values{Waiting: 5, Running: 22, HitRate: 0.385}},
	{file: "tgi-1.txt", engine: TGI, want: values{Waiting: 0, Running: 0}},
	{file: "trtllm-serve-1.txt", engine: TRTLLM, want: values{
		Waiting: 1, Running: 3, KVUse: 0.42, GenerationTokens: 12345}},
	{file: "trtllm-triton-1.txt", engine: TritonTRTLLM, want: values{
		Waiting: 1, Running: 1, MaxRunning: 512, KVUse: 0.4875,
		KVTokens: 399296, KVUsed: 64}}, // 6239 and 1 block of 64
	{file: "trtllm-triton-2-v1.txt", engine: TritonTRTLLM, want: values{Waiting: 0}},
	{file: "triton-1.txt", engine: Triton, want: values{}},
	{file: "llamacpp-1.txt", engine: LlamaCPP, want: values{Waiting: 0, Running: 1}},
	{file: "llamacpp-2-old-kv-ratio.txt", engine: LlamaCPP, want: values{
		Waiting: 0, Running: 1, KVUse: 0.25, PromptTokens: 1000, GenerationTokens: 400}},
	{file: "lmdeploy-1.txt", engine: LMDeploy, want: values{Waiting: 10, Running: 5, GenerationTokens: 1000}},
	{file: "lmdeploy-2.txt", engine: LMDeploy, want: values{
		Waiting: 3, Running: 4, KVUse: 0.31, HitRate: 0.4}}, // 2 in the engine, 1 before it
	{file: "ollama-1.txt", engine: Unknown, want: values{}},
}

const pagesAtLeast = 29

// pagesDir is the folder of the pages; the test is skipped where it is absent.
func pagesDir(t testing.TB) string {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "metrics")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("no shared data: ", dir)
	}
	return dir
}

func readPage(t testing.TB, file string) []byte {
	b, err := os.ReadFile(filepath.Join(pagesDir(t), file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newParser(t testing.TB, custom ...Custom) *Parser {
	p, err := New(custom)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// parse reads a page in windows of the given size.
func parse(p *Parser, page []byte, window int) Result {
	p.Reset()
	for len(page) > 0 {
		n := min(window, len(page))
		b := append([]byte(nil), page[:n]...)
		p.Write(b)
		clear(b) // nobody may keep the window
		page = page[n:]
	}
	p.Close()
	return p.Result()
}

// check compares the fields that a result knows with those wanted.
func check(t *testing.T, name string, got Result, want values) {
	t.Helper()
	for f := range Adapters {
		v, known := got.Value(f)
		w, wanted := want[f]
		if known != wanted || math.Abs(v-w) > 1e-12*math.Abs(w) {
			t.Errorf("%s: %v = %v, %v, want %v, %v", name, f, v, known, w, wanted)
		}
	}
	most, wanted := want[Adapters]
	if got.Known(Adapters) != wanted || got.MaxAdapters != most {
		t.Errorf("%s: adapters known = %v, at most %v, want %v, %v",
			name, got.Known(Adapters), got.MaxAdapters, wanted, most)
	}
}

func TestPages(t *testing.T) {
	p := newParser(t)
	for _, c := range pages {
		content := readPage(t, c.file)
		for _, window := range []int{1, 7, 64, 1000, len(content)} {
			got := parse(p, content, window)
			if got.Engine != c.engine {
				t.Errorf("%s: engine %v, want %v", c.file, got.Engine, c.engine)
			}
			if string(got.Adapters) != c.adapters {
				t.Errorf("%s: adapters %q, want %q", c.file, got.Adapters, c.adapters)
			}
			if got.Unusable != c.unusable || got.Overlong != 0 || got.Dropped != 0 {
				t.Errorf("%s: %d unusable, %d overlong, %d dropped, want %d, 0, 0",
					c.file, got.Unusable, got.Overlong, got.Dropped, c.unusable)
			}
			check(t, c.file, got, c.want)
		}
	}
}

func TestEveryPageIsListed(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pagesDir(t), "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < pagesAtLeast {
		t.Errorf("%d pages, want at least %d", len(files), pagesAtLeast)
	}
	listed := map[string]bool{}
	for _, c := range pages {
		listed[c.file] = true
	}
	for _, file := range files {
		if !listed[filepath.Base(file)] {
			t.Errorf("%s has no expected values", filepath.Base(file))
		}
	}
}

// TestDocumentedNames reads upstream's list of TGI metrics: the names used must be on it.
func TestDocumentedNames(t *testing.T) {
	list := string(readPage(t, "tgi-metric-names.md"))
	for name := range tgi {
		name = strings.TrimSuffix(name, "_sum") // of a histogram
		if !strings.Contains(list, "`tgi_"+name+"`") {
			t.Errorf("tgi_%s is not in TGI's list", name)
		}
	}
}
