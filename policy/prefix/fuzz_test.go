// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// seedBodies are the bodies of the tests' tables and, where it is there, of the public data that is
// short enough to be mutated usefully.
func seedBodies() (all [][]byte) {
	for _, c := range shapeCases {
		all = append(all, []byte(c.body))
	}
	files, _ := filepath.Glob(filepath.Join(dataDir, "requests/*/*.json"))
	more, _ := filepath.Glob(filepath.Join(dataDir, "jsontestsuite/*.json"))
	golden, _ := filepath.Glob("testdata/bodies/*.json")
	for _, file := range append(append(files, more...), golden...) {
		if b, err := os.ReadFile(file); err == nil && len(b) < 4096 {
			all = append(all, b)
		}
	}
	return all
}

// checkBody holds a body against the reference, cut at two places and in single bytes.
func checkBody(t *testing.T, config Config, shape Shape, body []byte, cut1, cut2 int) {
	t.Helper()
	var s Scanner
	scanPieces(&s, config, shape, body)
	got, reason := outcomeOf(&s), s.Reason()
	if want := slowScan(config, shape, body); differ(got, want) != "" {
		t.Fatalf("%v %q: %s differ (reason %v):\n got %+v\nwant %+v", shape, body, differ(got, want), reason, got, want)
	}
	if cut1 > cut2 {
		cut1, cut2 = cut2, cut1
	}
	scanPieces(&s, config, shape, body[:cut1], body[cut1:cut2], body[cut2:])
	if again := outcomeOf(&s); s.Reason() != reason || differ(again, got) != "" {
		t.Fatalf("%v %q: cut at %d and %d: %s differ, reason %v, whole %v", shape, body, cut1, cut2, differ(again, got), s.Reason(), reason)
	}
	if len(body) > 2048 {
		return
	}
	scanPieces(&s, config, shape, singles(body)...)
	if again := outcomeOf(&s); s.Reason() != reason || differ(again, got) != "" {
		t.Fatalf("%v %q: in single bytes: %s differ, reason %v, whole %v", shape, body, differ(again, got), s.Reason(), reason)
	}
}

// FuzzBody feeds the scanner bytes of any kind.
func FuzzBody(f *testing.F) {
	for i, b := range seedBodies() {
		f.Add(b, byte(i), uint16(i*7), uint16(i*31))
	}
	f.Fuzz(func(t *testing.T, body []byte, shape byte, cut1, cut2 uint16) {
		s := allShapes[int(shape)%len(allShapes)]
		config := testConfigs[int(shape)/len(allShapes)%len(testConfigs)]
		checkBody(t, config, s, body, int(cut1)%(len(body)+1), int(cut2)%(len(body)+1))
	})
}

// FuzzText feeds the scanner the inside of a string that is the prompt, repeated so that the text
// spans blocks, and read as raw JSON.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"plain", `\n\t\"\\\/`, `\u0041\ud83d\ude00`, `\ud83d\ud83d\ude00`, `\ude00`, "汉字与 English", "\U0001F600é", `a\u00e9`,
		"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\x7f\x1f", `\x`, `\u12g4`,
	} {
		f.Add(text, uint16(1), uint16(7))
		f.Add(text, uint16(100), uint16(300))
	}
	f.Fuzz(func(t *testing.T, text string, times, cut uint16) {
		n := int(times)%512 + 1
		if n*len(text) > 64<<10 {
			n = 1
		}
		body := append([]byte(`{"prompt":"`), bytes.Repeat([]byte(text), n)...)
		body = append(body, `"}`...)
		checkBody(t, Config{}, Completions, body, int(cut)%(len(body)+1), len(body)/2)
	})
}

// FuzzDigest compares the streaming hash with a library's.
func FuzzDigest(f *testing.F) {
	f.Add(uint64(0), []byte("a"), uint16(0), uint16(1))
	f.Add(uint64(7), bytes.Repeat([]byte("0123456789"), 20), uint16(31), uint16(33))
	f.Fuzz(func(t *testing.T, seed uint64, p []byte, cut1, cut2 uint16) {
		a, b := int(cut1)%(len(p)+1), int(cut2)%(len(p)+1)
		a, b = min(a, b), max(a, b)
		want := xxhash.NewWithSeed(seed)
		_, _ = want.Write(p)
		var d digest
		d.reset(seed)
		d.write(p[:a])
		d.write(p[a:b])
		d.write(p[b:])
		if got := d.sum(); got != want.Sum64() {
			t.Fatalf("digest of %q under %d cut at %d, %d = %x, want %x", p, seed, a, b, got, want.Sum64())
		}
		d.reset(seed)
		n := d.text(p)
		if n > plain(p) {
			t.Fatalf("text(%q) takes %d bytes, only %d are plain", p, n, plain(p))
		}
		d.write(p[n:])
		if got := d.sum(); got != want.Sum64() {
			t.Fatalf("digest of %q with text = %x, want %x", p, got, want.Sum64())
		}
	})
}

// odd are the bytes that mutations put in: those that matter to JSON and UTF-8.
const odd = "\"\\{}[]:,0-1.eEtfn u/\x00\x1f\x7f\x80\xbf\xc3\xe4\xed\xf0\xff\r\n"

// mutate changes a few places of a body.
func mutate(r *rand.Rand, body []byte) []byte {
	b := bytes.Clone(body)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return b
		}
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(16))
		switch r.IntN(5) {
		case 0:
			b[i] = odd[r.IntN(len(odd))]
		case 1:
			b = append(b[:i:i], b[j:]...)
		case 2:
			b = append(b[:j:j], b[i:]...)
		case 3:
			b = append(b[:i:i], append([]byte{odd[r.IntN(len(odd))]}, b[i:]...)...)
		case 4:
			b = b[:i]
		}
	}
	return b
}

// TestMutatedBodiesEqualReference is the fuzz target with a fixed seed, so that every test run
// covers some thousand broken bodies.
func TestMutatedBodiesEqualReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	seeds := seedBodies()
	for i := range 20_000 {
		body := mutate(r, seeds[i%len(seeds)])
		shape := allShapes[r.IntN(len(allShapes))]
		if r.IntN(2) == 0 {
			shape = guessShape("", body)
		}
		checkBody(t, testConfigs[i%2], shape, body, r.IntN(len(body)+1), r.IntN(len(body)+1))
	}
}
