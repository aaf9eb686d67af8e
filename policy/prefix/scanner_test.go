// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dataDir is where the public data lies: real bodies and JSONTestSuite.
const dataDir = "../../../shared/data"

// bodies returns the files of one data folder, and fails if the data is there but incomplete.
func bodies(t testing.TB, pattern string, atLeast int) []string {
	t.Helper()
	if _, err := os.Stat(dataDir); err != nil {
		t.Skipf("no public data at %s", dataDir)
	}
	files, err := filepath.Glob(filepath.Join(dataDir, pattern))
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d files match %s, want at least %d (%v)", len(files), pattern, atLeast, err)
	}
	return files
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scanPieces scans a body that comes in the given pieces.
func scanPieces(s *Scanner, config Config, shape Shape, pieces ...[]byte) {
	s.Reset(&config, shape)
	for _, p := range pieces {
		s.Write(p)
	}
	s.Close()
}

func outcomeOf(s *Scanner) outcome {
	if s.Reason() != ReasonNone {
		return outcome{}
	}
	return outcome{
		ok:     true,
		hashes: slices.Clone(s.Hashes()),
		ends:   slices.Clone(s.Ends()),
		length: s.Length(),
		tag:    s.Tag(),
		marks:  s.Marks(),
		model:  string(s.Model()),
	}
}

// scan returns the outcome of a body given in one piece.
func scan(shape Shape, body string) (outcome, Reason) {
	var s Scanner
	scanPieces(&s, Config{}, shape, []byte(body))
	return outcomeOf(&s), s.Reason()
}

func (o outcome) equal(p outcome) bool {
	return o.ok == p.ok && o.length == p.length && o.tag == p.tag && o.marks == p.marks && o.model == p.model &&
		slices.Equal(o.hashes, p.hashes) && slices.Equal(o.ends, p.ends)
}

// differ names the first thing in which two outcomes differ.
func differ(got, want outcome) string {
	switch {
	case got.ok != want.ok:
		return "ok"
	case got.length != want.length:
		return "length"
	case got.tag != want.tag:
		return "tag"
	case got.model != want.model:
		return "model"
	case !slices.Equal(got.ends, want.ends):
		return "ends"
	case !slices.Equal(got.hashes, want.hashes):
		return "hashes"
	case got.marks != want.marks:
		return "marks"
	}
	return ""
}

var allShapes = func() (all []Shape) {
	for s := Chat; s < shapes; s++ {
		all = append(all, s)
	}
	return all
}()

var testConfigs = []Config{{}, {Seed: 42, MaxBytes: 3000, KeepBilling: true}}

// TestRealBodiesEqualReference holds every body of the public data, read as every shape, against the
// reference.
func TestRealBodiesEqualReference(t *testing.T) {
	var s Scanner
	checked := 0
	for _, file := range bodies(t, "requests/*/*.json", 300) {
		body := readFile(t, file)
		tree := parseTree(body)
		for _, shape := range allShapes {
			for _, config := range testConfigs {
				scanPieces(&s, config, shape, body)
				got, want := outcomeOf(&s), slowTree(config, shape, tree)
				if d := differ(got, want); d != "" {
					t.Errorf("%s as %v: %s differ (reason %v):\n got %+v\nwant %+v", filepath.Base(file), shape, d, s.Reason(), got, want)
				}
				if want.ok {
					checked++
				}
			}
		}
	}
	t.Logf("%d fingerprints equal the reference", checked)
}

// TestSplits cuts bodies at every place (long ones: at some), and into single bytes.
func TestSplits(t *testing.T) {
	var s, u Scanner
	for _, file := range bodies(t, "requests/*/*.json", 300) {
		body := readFile(t, file)
		shape := guessShape(file, body)
		scanPieces(&s, Config{}, shape, body)
		want, reason := outcomeOf(&s), s.Reason()
		scanPieces(&u, Config{}, shape, singles(body)...)
		if got := outcomeOf(&u); !got.equal(want) || u.Reason() != reason {
			t.Errorf("%s: single bytes give other results", filepath.Base(file))
		}
		step := 1 + len(body)/500
		if len(body) > 100_000 {
			step = len(body)/41 + 1
		}
		for i := 0; i <= len(body); i += step {
			scanPieces(&u, Config{}, shape, body[:i], body[i:])
			if got := outcomeOf(&u); !got.equal(want) || u.Reason() != reason {
				t.Fatalf("%s: cut at %d gives other results: %s", filepath.Base(file), i, differ(got, want))
			}
		}
	}
}

func singles(body []byte) (pieces [][]byte) {
	for i := range body {
		pieces = append(pieces, body[i:i+1])
	}
	return pieces
}

// guessShape returns the shape that a file of the public data is written for, by its keys.
func guessShape(file string, body []byte) Shape {
	has := func(key string) bool { return bytes.Contains(body, []byte(`"`+key+`"`)) }
	switch {
	case strings.Contains(file, "anthropic") || strings.Contains(file, "claude"):
		return Messages
	case strings.Contains(file, "ollama/api") && has("messages"):
		return OllamaChat
	case strings.Contains(file, "ollama") && has("prompt") && !has("messages"):
		return OllamaGenerate
	case has("query"):
		return Rerank
	case has("inputs"):
		return TGI
	case has("input_ids") || strings.Contains(file, "sglang-generate"):
		return Generate
	case has("input") && strings.Contains(file, "embeddings"):
		return Embeddings
	case has("input") && !has("messages"):
		return Responses
	case has("prompt") && !has("messages"):
		return Completions
	}
	return Chat
}
