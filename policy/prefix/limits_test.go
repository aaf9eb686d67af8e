// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestScannerSize(t *testing.T) {
	if got := unsafe.Sizeof(Scanner{}); got > 8<<10 {
		t.Errorf("a Scanner has %d bytes, want at most 8 KiB", got)
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	bodies := metaBodies()
	var s Scanner
	config := Config{Seed: 1}
	for _, shape := range allShapes {
		body := []byte(bodies[shape])
		var sum uint64
		allocs := testing.AllocsPerRun(20, func() {
			s.Reset(&config, shape)
			for p := body; len(p) > 0; p = p[min(len(p), 100):] {
				s.Write(p[:min(len(p), 100)])
				sum += s.Marks().Key + s.Tag().Hash + uint64(len(s.Hashes())+len(s.Ends())+s.Length()+len(s.Model()))
			}
			s.Close()
		})
		if allocs != 0 || s.Reason() != ReasonNone {
			t.Errorf("%v: %v allocations, reason %v", shape, allocs, s.Reason())
		}
	}
}

// TestManyTinyMessages fills the block array with message ends: the budget holds, and the grid is
// still there.
func TestManyTinyMessages(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"messages":[{"role":"user","content":"a"}`)
	for i := range 60_000 {
		fmt.Fprintf(&b, `,{"role":"user","content":"%d"}`, i)
	}
	b.WriteString(`]}`)
	got, reason := scan(Chat, b.String())
	if d := differ(got, slowScan(Config{}, Chat, []byte(b.String()))); d != "" {
		t.Fatalf("%s differ from the reference, reason %v", d, reason)
	}
	last := int(got.ends[len(got.ends)-1])
	if last < MaxHashed-coarseStep || len(got.hashes) > 316+freeEnds+316/gridPerEnd {
		t.Errorf("%d blocks up to %d, want the grid up to MaxHashed within the budget", len(got.hashes), last)
	}
	for i := 1; i < len(got.ends); i++ {
		if got.ends[i]-got.ends[i-1] > coarseStep+roleBytes+8 || got.ends[i] <= got.ends[i-1] {
			t.Fatalf("block %d goes from %d to %d", i, got.ends[i-1], got.ends[i])
		}
	}
}

// TestSystemPlaceDoesNotMatter gives system prompts and messages of all lengths, up to more than is
// hashed, in both orders.
func TestSystemPlaceDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	lengths := []int{0, 1, 255, 256, 257, 4096, 70_000, 131_071, 131_072, 200_000, 1 << 20, 1_300_000}
	for range 60 {
		text := func() string { return strings.Repeat("x", lengths[r.IntN(len(lengths))]) }
		system := fmt.Sprintf(`"system":%q`, text())
		messages := fmt.Sprintf(`"messages":[{"role":"user","content":%q},{"role":"assistant","content":%q}]`, text(), text())
		config := Config{MaxBytes: r.IntN(2) * 100_000}
		var s Scanner
		scanPieces(&s, config, Messages, []byte("{"+system+","+messages+"}"))
		first := outcomeOf(&s)
		scanPieces(&s, config, Messages, []byte("{"+messages+","+system+"}"))
		behind := outcomeOf(&s)
		if d := differ(behind, first); d != "" || !first.ok {
			t.Fatalf("%s differ between system first and behind (%d and %d canonical bytes)", d, first.length, behind.length)
		}
		if d := differ(first, slowScan(config, Messages, []byte("{"+system+","+messages+"}"))); d != "" {
			t.Fatalf("%s differ from the reference", d)
		}
	}
}

// TestProgress looks at the scanner between pieces: what is published is never taken back, except
// where Hashes says so, and lengths only grow.
func TestProgress(t *testing.T) {
	for shape, body := range metaBodies() {
		var s Scanner
		s.Reset(&Config{}, shape)
		var hashes []uint64
		length, raw := 0, 0
		for i := 0; i < len(body); i += 50 {
			s.Write([]byte(body[i:min(len(body), i+50)]))
			now := s.Hashes()
			if len(s.Ends()) != len(now) || !slices.Equal(now[:min(len(now), len(hashes))], hashes) {
				t.Fatalf("%v at %d: the %d hashes before are not the first of %d", shape, i, len(hashes), len(now))
			}
			if s.Length() < length || s.Raw() <= raw {
				t.Fatalf("%v at %d: length %d after %d, raw %d after %d", shape, i, s.Length(), length, s.Raw(), raw)
			}
			if s.Tag().Complete && i+50 < len(body) {
				t.Fatalf("%v at %d: tag complete before the end", shape, i)
			}
			hashes, length, raw = slices.Clone(now), s.Length(), s.Raw()
		}
		s.Close()
		if m := s.Marks(); !s.Tag().Complete || !m.HeadKnown || !m.KeyKnown || !m.PrevKnown {
			t.Errorf("%v: at the end %+v, %+v", shape, s.Tag(), m)
		}
	}
}

// TestEarlyKnowledge gives the first part of a body, and says what is known then.
func TestEarlyKnowledge(t *testing.T) {
	long := strings.Repeat("words ", 1000)
	var s Scanner
	s.Reset(&Config{}, Chat)
	s.Write([]byte(`{"model":"m","tools":[{"type":"function"}],"messages":[{"role":"system","content":"` + long + `"},{"role":"user"`))
	if m := s.Marks(); !m.HeadKnown || m.Head != len(long)+roleBytes || m.HeadHash == 0 || m.KeyKnown || m.PrevKnown {
		t.Errorf("behind the head: %+v", m)
	}
	if tag := s.Tag(); tag.Seen != FieldModel|FieldTools || tag.Complete || tag.Bytes == 0 {
		t.Errorf("behind the head: %+v", tag)
	}
	s.Write([]byte(`,"content":"q"},{"role":"assistant","content":"a"}`))
	if m := s.Marks(); !m.KeyKnown || m.Prev != s.Length() || m.PrevKnown {
		t.Errorf("behind the first turn: %+v, length %d", m, s.Length())
	}
	s.Reset(&Config{}, Chat)
	s.Write([]byte(`{"messages":[{"content":"` + long))
	if len(s.Hashes()) != 0 || s.Length() != len(long) {
		t.Errorf("%d hashes before the role is known, length %d", len(s.Hashes()), s.Length())
	}
	s.Write([]byte(`","role":"user"`))
	if len(s.Hashes()) != gridPoints(len(long)) {
		t.Errorf("%d hashes when the role is known, want %d", len(s.Hashes()), gridPoints(len(long)))
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		name string
		body string
		want Reason
	}{
		{"skipped value at the limit", `{"prompt":"p","x":` + nested(MaxDepth-1) + `}`, ReasonNone},
		{"skipped value behind the limit", `{"prompt":"p","x":` + nested(MaxDepth) + `}`, ReasonTooDeep},
		{"skipped value far behind the limit", `{"x":` + nested(100_000) + `,"prompt":"p"}`, ReasonTooDeep},
		{"hashed value at the limit", `{"prompt":"p","tools":` + nested(MaxHashedDepth) + `}`, ReasonNone},
		{"hashed value behind the limit", `{"prompt":"p","tools":` + nested(MaxHashedDepth+1) + `}`, ReasonTooDeep},
		{"prompt lists at the limit", `{"prompt":[[["p"]]]}`, ReasonNone},
		{"prompt lists behind the limit", `{"prompt":[[[["p"]]]]}`, ReasonBadPrompt},
	} {
		if _, got := scan(Completions, c.body); got != c.want {
			t.Errorf("%s: reason %v, want %v", c.name, got, c.want)
		}
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		body  string
		want  Reason
	}{
		{0, `{}`, ReasonShape},
		{200, `{}`, ReasonShape},
		{Chat, "", ReasonEmpty},
		{Chat, " \n", ReasonEmpty},
		{Chat, "\uFEFF", ReasonEmpty},
		{Chat, "\xef\xbb", ReasonTruncated},
		{Chat, " \uFEFF{}", ReasonNotJSON},
		{Chat, "{", ReasonTruncated},
		{Chat, "{}", ReasonNoPrompt},
		{Chat, "{} {}", ReasonNotJSON},
		{Chat, "[]", ReasonNotObject},
		{Chat, `"x"`, ReasonNotObject},
		{Chat, "1", ReasonNotObject},
		{Chat, "null", ReasonNotObject},
		{Chat, `{"messages":null}`, ReasonNoPrompt},
		{Chat, `{"messages":1}`, ReasonBadPrompt},
		{Chat, `{"messages":"x"}`, ReasonBadPrompt},
		{Chat, `{"messages":true}`, ReasonBadPrompt},
		{Completions, `{"prompt":{}}`, ReasonBadPrompt},
		{Messages, `{"system":"a","system":"b","messages":["x"]}`, ReasonDuplicate},
		{Generate, `{"text":"a","input_ids":[1]}`, ReasonDuplicate},
		{Chat, `{"messages":[{"role":"user","role":"user"}]}`, ReasonDuplicate},
		{Chat, "{\"messages\":[{\"content\":\"\xff\"}]}", ReasonUTF8},
		{Chat, `{"messages":[{"content":"\q"}]}`, ReasonNotJSON},
		{Chat, `{"messages":[01]}`, ReasonNotJSON},
		{Completions, `{"prompt":[1,]}`, ReasonNotJSON},
		{Completions, `{"prompt":[01,2]}`, ReasonNotJSON},
		{Completions, `{"prompt":[1,,2]}`, ReasonNotJSON},
	} {
		if _, got := scan(c.shape, c.body); got != c.want {
			t.Errorf("%v %q: reason %v, want %v", c.shape, c.body, got, c.want)
		}
	}
	if ReasonNotJSON.String() != "not_json" || Reason(200).String() != "unknown" {
		t.Errorf("names %v, %v", ReasonNotJSON, Reason(200))
	}
}

// TestExtras reads the values that callers need besides the fingerprint.
func TestExtras(t *testing.T) {
	for _, c := range []struct {
		shape                Shape
		body                 string
		stream               bool
		maxTokens            int
		model, previous, con string
	}{
		{Chat, `{"stream":true,"max_tokens":12,"model":"org\/name","messages":["x"]}`, true, 12, "org/name", "", ""},
		{Chat, `{"stream":"true","max_completion_tokens":7,"messages":["x"]}`, true, 7, "", "", ""},
		{Chat, `{"stream":1,"max_tokens":16.0,"messages":["x"]}`, true, 16, "", "", ""},
		{Chat, `{"stream":true,"stream":false,"max_tokens":null,"messages":["x"]}`, false, 0, "", "", ""},
		{Chat, `{"stream":null,"model":null,"model":"a","model":7,"messages":["x"]}`, false, 0, "", "", ""},
		{Responses, `{"input":"x","previous_response_id":"resp_1","conversation":"conv_1","max_output_tokens":3}`, false, 3, "", "resp_1", "conv_1"},
		{OllamaChat, `{"messages":["x"],"options":{"num_predict":5}}`, true, 5, "", "", ""},
		{OllamaGenerate, `{"prompt":"x","stream":false}`, false, 0, "", "", ""},
		{TGI, `{"inputs":"x","parameters":{"max_new_tokens":9}}`, false, 9, "", "", ""},
		{Chat, `{"model":"` + strings.Repeat("m", 1000) + `","messages":["x"]}`, false, 0, strings.Repeat("m", MaxModel), "", ""},
	} {
		var s Scanner
		scanPieces(&s, Config{}, c.shape, singles([]byte(c.body))...)
		if s.Reason() != ReasonNone || s.Stream() != c.stream || s.MaxTokens() != c.maxTokens || string(s.Model()) != c.model ||
			string(s.PreviousResponseID()) != c.previous || string(s.ConversationID()) != c.con {
			t.Errorf("%.80s: reason %v, stream %v, max tokens %d, model %.20q, previous %q, conversation %q",
				c.body, s.Reason(), s.Stream(), s.MaxTokens(), s.Model(), s.PreviousResponseID(), s.ConversationID())
		}
	}
}
