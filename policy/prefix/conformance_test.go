// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSONTestSuite puts each file of JSONTestSuite where the scanner skips a value and where it
// hashes one, besides giving it as a body. Most are arrays or scalars and so no prompt by
// themselves.
func TestJSONTestSuite(t *testing.T) {
	counts := map[string]int{}
	for _, file := range bodies(t, "jsontestsuite/[yni]_*.json", 318) {
		doc := string(readFile(t, file))
		name := filepath.Base(file)
		counts[name[:1]]++
		if _, reason := scan(Completions, doc); reason == ReasonNone {
			t.Errorf("%s as a body has no reason", name)
		}
		for _, form := range []string{
			`{"x":%s,"prompt":"p"}`, `{"prompt":"p","x":[0,%s]}`, `{"prompt":"p","tools":%s}`, `{"prompt":"p","tools":[{"parameters":%s}]}`,
		} {
			body := fmt.Sprintf(form, doc)
			_, reason := scan(Completions, body)
			switch name[:1] {
			case "y":
				if reason != ReasonNone {
					t.Errorf("%s in %s: reason %v, want none", name, form, reason)
				}
			case "n":
				if reason == ReasonNone {
					t.Errorf("%s in %s is accepted", name, form)
				}
			}
			checkBody(t, Config{}, Completions, []byte(body), len(body)/2, len(body)-1)
		}
	}
	t.Logf("%d accepted, %d refused, %d either", counts["y"], counts["n"], counts["i"])
}

// unusual has the reasons of the files in unusual-json; those that are not named have none.
var unusual = map[string]Reason{
	"raw-control-char": ReasonNotJSON, "raw-newline-in-string": ReasonNotJSON, "utf16le": ReasonNotJSON,
	"nbsp-space": ReasonNotJSON, "formfeed": ReasonNotJSON, "trailing-comma": ReasonNotJSON,
	"trailing-comma-array": ReasonNotJSON, "comments": ReasonNotJSON, "single-quotes": ReasonNotJSON,
	"unquoted-keys": ReasonNotJSON, "nan": ReasonNotJSON, "infinity": ReasonNotJSON,
	"python-none-true": ReasonNotJSON, "bad-numbers": ReasonNotJSON, "trailing-garbage": ReasonNotJSON,
	"two-documents": ReasonNotJSON, "ndjson": ReasonNotJSON, "form-encoded": ReasonNotJSON,
	"invalid-utf8": ReasonUTF8, "truncated-utf8": ReasonUTF8, "cesu8": ReasonUTF8,
	"truncated-mid-string": ReasonTruncated, "truncated-mid-escape": ReasonTruncated,
	"deep-array-100000": ReasonTooDeep, "deep-object-10000": ReasonTooDeep, "deep-open-50000": ReasonBadPrompt,
	"dup-messages": ReasonDuplicate, "dup-content": ReasonDuplicate,
	"empty": ReasonEmpty, "null": ReasonNotObject, "array-top": ReasonNotObject, "string-top": ReasonNotObject,
	"messages-object": ReasonBadPrompt, "messages-string": ReasonBadPrompt, "messages-empty": ReasonNoPrompt,
}

// TestUnusualJSON holds each JSON trap to its row of the index: what is called invalid has a reason
// that says so, what is called valid is read as JSON.
func TestUnusualJSON(t *testing.T) {
	notes := indexNotes(t)
	for _, file := range bodies(t, "requests/unusual-json/*.json", 80) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		body := readFile(t, file)
		_, reason := scan(guessShape(file, body), string(body))
		if want := unusual[name]; reason != want {
			t.Errorf("%s: reason %v, want %v", name, reason, want)
		}
		syntax := reason == ReasonNotJSON || reason == ReasonUTF8 || reason == ReasonTruncated || reason == ReasonTooDeep || reason == ReasonBadPrompt
		note := notes["unusual-json/"+name+".json"]
		if strings.HasPrefix(note, "INVALID") && !syntax {
			t.Errorf("%s: reason %v, but the index says %q", name, reason, note)
		}
		if strings.HasPrefix(note, "valid") && (reason == ReasonNotJSON || reason == ReasonUTF8 || reason == ReasonTruncated) {
			t.Errorf("%s: reason %v, but the index says %q", name, reason, note)
		}
	}
}

// indexNotes returns what INDEX.tsv says is special, by file.
func indexNotes(t *testing.T) map[string]string {
	notes := map[string]string{}
	for _, file := range bodies(t, "requests/INDEX.tsv", 1) {
		for line := range strings.Lines(string(readFile(t, file))) {
			if columns := strings.Split(strings.TrimSpace(line), "\t"); len(columns) > 1 {
				notes[columns[0]] = columns[len(columns)-1]
			}
		}
	}
	return notes
}

// TestUnusualPairs compares files that say the same, and two that must not be unified.
func TestUnusualPairs(t *testing.T) {
	outcomeFor := func(name string) outcome {
		files := bodies(t, "requests/unusual-json/"+name+".json", 1)
		o, _ := scan(Chat, string(readFile(t, files[0])))
		o.tag.Seen = 0
		return o
	}
	hi := outcomeFor("key-order-messages-first")
	for _, name := range []string{"unicode-escapes-ascii", "escaped-key", "bom", "big-whitespace", "pretty-crlf-tabs", "many-keys", "stream-1", "huge-int"} {
		if got := outcomeFor(name); differ(got, hi) != "" {
			t.Errorf("%s: %s differ from key-order-messages-first", name, differ(got, hi))
		}
	}
	for _, pair := range [][2]string{{"surrogate-pair-escape", "surrogate-pair-raw"}, {"ensure-ascii-cjk", "raw-cjk"}} {
		if d := differ(outcomeFor(pair[0]), outcomeFor(pair[1])); d != "" {
			t.Errorf("%s of %v differ", d, pair)
		}
	}
	if differ(outcomeFor("nfc"), outcomeFor("nfd")) == "" {
		t.Error("NFC and NFD are the same, but their tokens are not")
	}
	if got := outcomeFor("dup-model"); got.model != "b" {
		t.Errorf("of a model given twice %q counts, want the last", got.model)
	}
}
