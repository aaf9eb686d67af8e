// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// TestHashShortEqualsLibrary takes strings of all lengths in front of a quote and of as few bytes
// behind it as may be.
func TestHashShortEqualsLibrary(t *testing.T) {
	for n := range shortText {
		text := bytes.Repeat([]byte("0123456789abcdefghijk"), shortText)[:n]
		body := append(bytes.Clone(text), `"`...)
		for len(body)%wordBytes != 0 {
			body = append(body, '}')
		}
		got, hash := hashShort(body)
		if want := xxhash.Sum64(text); got != n || hash != want {
			t.Errorf("hashShort of %d bytes = %d, %x, want %d, %x", n, got, hash, n, want)
		}
		if k := short(body); k != n {
			t.Errorf("short of %d bytes = %d", n, k)
		}
	}
}

func TestHashShortLeavesTheRest(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"less than a word", `a":1`},
		{"escape in front of the quote", `a\"bcdef"123456`},
		{"control byte in front of the quote", "a\nbcdef\"1234567"},
		{"long UTF-8 sequence in front of the quote", "aé\"1234567890123"},
		{"quote in the cut word", `12345678ab"`},
		{"quote behind the limit", string(bytes.Repeat([]byte("a"), shortText)) + `"1234567`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, hash := hashShort([]byte(c.text)); n != -1 || hash != 0 {
				t.Errorf("hashShort(%q) = %d, %x, want -1, 0", c.text, n, hash)
			}
			if n := short([]byte(c.text)); n != -1 {
				t.Errorf("short(%q) = %d, want -1", c.text, n)
			}
		})
	}
}
