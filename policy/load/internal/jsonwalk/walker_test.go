// SPDX-License-Identifier: Apache-2.0

package jsonwalk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// events is a target that writes down what it was called with.
type events struct{ strings.Builder }

// everything is a schema that names all values down to the given depth.
func everything(levels int) *Node[events] {
	n := &Node[events]{
		Begin: func(e *events) { e.WriteString("{") },
		End:   func(e *events) { e.WriteString("}") },
		Scalar: func(e *events, v Value) bool {
			e.scalar(string(v.Name), int(v.Kind), string(v.Text))
			return true
		},
	}
	if levels > 0 {
		n.Other = everything(levels - 1)
		n.Elements = everything(levels - 1)
	}
	return n
}

func (e *events) scalar(name string, kind int, text string) {
	fmt.Fprintf(e, "%q %d %q,", name, kind, text)
}

const levels = maxDepth - 1

// walk reads doc in windows of the given size.
func walk(t testing.TB, doc []byte, window int) (string, error) {
	var e events
	w, err := New(everything(levels), &e)
	if err != nil {
		t.Fatal(err)
	}
	for len(doc) > 0 {
		n := min(window, len(doc))
		// A copy of its own, overwritten after: nobody may keep the window.
		p := bytes.Clone(doc[:n])
		w.Write(p)
		clear(p)
		doc = doc[n:]
	}
	err = w.Close()
	return e.String(), err
}

// reference writes the same events with encoding/json.
func reference(d *json.Decoder, e *events, name string, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return referenceNested(d, e, v, depth)
	case string:
		e.scalar(name, int(String), v)
	case json.Number:
		e.scalar(name, int(Number), string(v))
	case bool:
		if v {
			e.scalar(name, int(True), "true")
		} else {
			e.scalar(name, int(False), "false")
		}
	default:
		e.scalar(name, int(Null), "null")
	}
	return nil
}

func referenceNested(d *json.Decoder, e *events, open json.Delim, depth int) error {
	if depth == levels {
		e = new(events) // deeper than the schema: skipped
	}
	e.WriteString("{") // for arrays too, as a Node has it
	for d.More() {
		name := ""
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name = token.(string)
		}
		if err := reference(d, e, name, depth+1); err != nil {
			return err
		}
	}
	e.WriteString("}")
	_, err := d.Token()
	return err
}

func referenceEvents(doc []byte) (string, error) {
	if !json.Valid(doc) {
		return "", ErrSyntax
	}
	var e events
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err := reference(d, &e, "", 0)
	return e.String(), err
}

// suite returns the files of JSONTestSuite that begin with prefix.
func suite(t *testing.T, prefix string, atLeast int) []string {
	dir := filepath.Join("..", "..", "..", "..", "..", "shared", "data", "jsontestsuite")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("no shared data: ", dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*.json"))
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d files %s*.json in %s, want at least %d (%v)", len(files), prefix, dir, atLeast, err)
	}
	return files
}

func TestSuiteAccepted(t *testing.T) {
	for _, file := range suite(t, "y_", 90) {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := referenceEvents(doc)
		if err != nil {
			t.Fatalf("%s: encoding/json: %v", filepath.Base(file), err)
		}
		for _, window := range []int{1, 2, 3, 7, len(doc)} {
			got, err := walk(t, doc, window)
			if err != nil || got != want {
				t.Errorf("%s in windows of %d: %s, %v, want %s", filepath.Base(file), window, got, err, want)
			}
		}
	}
}

func TestSuiteRefused(t *testing.T) {
	for _, file := range suite(t, "n_", 180) {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, window := range []int{1, len(doc) + 1} {
			if got, err := walk(t, doc, window); err == nil {
				t.Errorf("%s in windows of %d: accepted as %s", filepath.Base(file), window, got)
			}
		}
	}
}

func TestWalkErrors(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		want      error
	}{
		{"nothing", "", ErrCut},
		{"white space only", " \n", ErrCut},
		{"object cut in a name", `{"a`, ErrCut},
		{"object cut after a value", `{"a":1`, ErrCut},
		{"cut in skipped part", strings.Repeat("[", 100), ErrCut},
		{"number complete without end", `12`, nil},
		{"literal cut", `tru`, ErrSyntax},
		{"two documents", `1 2`, ErrSyntax},
		{"array closed as object", `[1}`, ErrSyntax},
		{"close without open", `]`, ErrSyntax},
		{"comma at the end", `[1,]`, ErrSyntax},
		{"NaN", `[NaN]`, ErrSyntax},
		{"plus sign", `+1`, ErrSyntax},
		{"leading zero", `01`, ErrSyntax},
		{"control character in a string", "\"\x01\"", ErrSyntax},
		{"unknown escape", `"\x"`, ErrSyntax},
		{"bad hex digit", `"\u12g4"`, ErrSyntax},
		{"number too long", strings.Repeat("1", MaxText+1), ErrSyntax},
	} {
		for _, window := range []int{1, 1000} {
			if _, err := walk(t, []byte(c.doc), window); err != c.want {
				t.Errorf("%s in windows of %d: %v, want %v", c.name, window, err, c.want)
			}
		}
	}
}

func TestWalkStrings(t *testing.T) {
	long := strings.Repeat("é", MaxText)
	for _, c := range []struct{ name, doc, want string }{
		{"escapes", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{"surrogate pair", `"\ud834\udd1e!"`, "\U0001D11E!"},
		{"high surrogate alone", `"\ud834"`, "\uFFFD"},
		{"high surrogate before text", `"\ud834x"`, "\uFFFDx"},
		{"high surrogate before another escape", `"\ud834\n"`, "\uFFFD\n"},
		{"two high surrogates and a low one", `"\ud834\ud834\udd1e"`, "\uFFFD\U0001D11E"},
		{"low surrogate alone", `"\udd1e"`, "\uFFFD"},
		{"longer than MaxText", `"` + long + `"`, long[:MaxText]},
		{"longer than MaxText after an escape", `"\u0061` + long + `"`, ("a" + long)[:MaxText]},
	} {
		for _, window := range []int{1, 5, 10_000} {
			got, err := walk(t, []byte(c.doc), window)
			want := fmt.Sprintf("%q %d %q,", "", String, c.want)
			if err != nil || got != want {
				t.Errorf("%s in windows of %d: %s, %v, want %s", c.name, window, got, err, want)
			}
		}
	}
}

// choosy takes a name and skips the object where it is "no".
type choosy struct{ got []string }

var choosyRoot = &Node[choosy]{Elements: &Node[choosy]{
	Members: []Member[choosy]{
		{"name", &Node[choosy]{Scalar: func(c *choosy, v Value) bool { return !v.Is("no") }}},
		{"list", &Node[choosy]{Elements: &Node[choosy]{Scalar: func(c *choosy, v Value) bool {
			c.got = append(c.got, string(v.Text))
			return string(v.Text) != "4"
		}}}},
	},
	End: func(c *choosy) { c.got = append(c.got, "end") },
}}

func TestWalkLeavesWhatACallbackRefuses(t *testing.T) {
	doc := `[{"name":"no","x":"}\"]","list":[1,2]},{"name":"yes","list":[3,4,5,[6]],"more":{"list":[7]}}]`
	for window := 1; window <= len(doc); window++ {
		var c choosy
		w, err := New(choosyRoot, &c)
		if err != nil {
			t.Fatal(err)
		}
		for rest := doc; rest != ""; rest = rest[min(window, len(rest)):] {
			w.Write([]byte(rest[:min(window, len(rest))]))
		}
		want := "end 3 4 end"
		if err := w.Close(); err != nil || strings.Join(c.got, " ") != want {
			t.Errorf("windows of %d: %v, %v, want %s", window, c.got, err, want)
		}
	}
}

// TestSkipForEverySplit has a part to skip with all that could end it too early or too late.
func TestSkipForEverySplit(t *testing.T) {
	skip := `[[[[["\"]]]]]]","\\","{{{{\\\"[[[[",{"}}}}}":"]]]"},["\u005c\"",""]],"` + strings.Repeat(`\"]`, 20) + `"]]],{}]`
	doc := []byte(`{"skip":` + skip + `,"wanted":"yes","skip":` + skip + `}`)
	if !json.Valid(doc) {
		t.Fatal("not JSON: ", string(doc))
	}
	var got string
	w, err := New(&Node[string]{Members: []Member[string]{
		{"wanted", &Node[string]{Scalar: func(s *string, v Value) bool { *s += string(v.Text); return true }}},
	}}, &got)
	if err != nil {
		t.Fatal(err)
	}
	for first := range len(doc) {
		for _, second := range []int{first, first + 1, first + 8, first + 20} {
			second = min(second, len(doc))
			got = ""
			w.Reset()
			w.Write(doc[:first])
			w.Write(doc[first:second])
			w.Write(doc[second:])
			if err := w.Close(); err != nil || got != "yes" {
				t.Errorf("split at %d and %d: %q, %v", first, second, got, err)
			}
		}
	}
}

func TestNewRefusesDeepSchema(t *testing.T) {
	self := &Node[events]{}
	self.Other = self
	if _, err := New(self, new(events)); !errors.Is(err, ErrDepth) {
		t.Errorf("New(schema that holds itself) = %v, want %v", err, ErrDepth)
	}
}

func TestValueNumbers(t *testing.T) {
	for _, c := range []struct {
		name string
		v    Value
		want uint64
		ok   bool
	}{
		{"number", Value{Kind: Number, Text: []byte("7")}, 7, true},
		{"number in a string", Value{Kind: String, Text: []byte("12")}, 12, true},
		{"with exponent", Value{Kind: Number, Text: []byte("1e3")}, 1000, true},
		{"fraction", Value{Kind: Number, Text: []byte("1.5")}, 0, false},
		{"negative", Value{Kind: Number, Text: []byte("-1")}, 0, false},
		{"too large", Value{Kind: Number, Text: []byte("1e17")}, 0, false},
		{"word", Value{Kind: String, Text: []byte("many")}, 0, false},
		{"cut", Value{Kind: String, Text: []byte("1"), Cut: true}, 0, false},
		{"true", Value{Kind: True, Text: []byte("true")}, 0, false},
	} {
		if got, ok := c.v.Uint(); got != c.want || ok != c.ok {
			t.Errorf("%s: Uint() = %d, %v, want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{`{"a":[1,"\ud834\udd1e",{"b":null}]}`, `[-0.5e+7,true]`, `"\u00e9`, `[[[[[[[[[[[[[[1]]]]]]]]]]]]]]`} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, doc []byte, window int) {
		got, gotErr := walk(t, doc, len(doc)+1)
		split, splitErr := walk(t, doc, max(1, window%64))
		if got != split || gotErr != splitErr {
			t.Fatalf("split changes the result: %s, %v and %s, %v", got, gotErr, split, splitErr)
		}
		want, wantErr := referenceEvents(doc)
		if wantErr == nil && gotErr == ErrCut {
			t.Fatalf("valid document called cut: %s", doc)
		}
		tame := len(doc) <= MaxText && !bytes.Contains(doc, []byte(`[[`)) && isUTF8(doc)
		if tame && wantErr == nil && (gotErr != nil || got != want) {
			t.Fatalf("got %s, %v, want %s", got, gotErr, want)
		}
	})
}

func isUTF8(b []byte) bool { return bytes.Equal(b, bytes.ToValidUTF8(b, []byte("?"))) }

func BenchmarkSkip(b *testing.B) {
	doc := []byte(`{"skip":[` + strings.Repeat("{\n  \"name\": \"cx_total\",\n   \"value\": \"1\"\n  },\n", 20_000) + `{}]}`)
	w, err := New(&Node[events]{Members: []Member[events]{{"other", nil}}}, new(events))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		w.Reset()
		w.Write(doc)
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
