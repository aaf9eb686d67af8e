// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strings"
	"testing"
	"time"
)

func TestHeadersAreJudgedInOrder(t *testing.T) {
	var h Headers
	h.Add("x-priority", "?")
	h.Add("X-Model", "m")
	h.Add("x-routing-key", "\x80")
	_, r := h.Parse(true)
	if r == nil || r.Code != InvalidHeader || r.Header != HeaderRoutingKey {
		t.Errorf("rejected with %+v, want %s first", r, HeaderRoutingKey)
	}
}

func TestModelIsNeededOnDemand(t *testing.T) {
	for _, value := range []string{"", "  "} {
		var h Headers
		if value != "" {
			h.Add(HeaderModel, value)
		}
		if got, r := h.Parse(false); r != nil || got.Model != "" {
			t.Errorf("%q: %v", value, r)
		}
		if _, r := h.Parse(true); r == nil || r.Code != MissingHeader || r.Header != HeaderModel {
			t.Errorf("%q demanded: %v, want %v", value, r, MissingHeader)
		}
	}
}

func TestHeaderBounds(t *testing.T) {
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{HeaderModel, strings.Repeat("m", 256), true},
		{HeaderModel, strings.Repeat("m", 257), false},
		{HeaderRoutingKey, strings.Repeat("m", 257), false},
		{HeaderAffinityKey, strings.Repeat("k", 1024), true},
		{HeaderAffinityKey, strings.Repeat("k", 1025), false},
		{HeaderInputTokens, " 7 ", true},
		{HeaderInputTokens, "000000000000000000007", false},
		{HeaderSLO, "18446744073709551615", true},
		{HeaderSLO, "18446744073709551616", false},
		{HeaderMaxWait, "18446744073709551615", true},
		{HeaderPriority, "4294967296", false},
		{HeaderPriority, "1\x00", false},
	} {
		var h Headers
		h.Add(c.name, c.value)
		if _, r := h.Parse(false); (r == nil) != c.ok {
			t.Errorf("%s of %d bytes: %v", c.name, len(c.value), r)
		}
	}
}

func TestHeadersReadWhatIsThere(t *testing.T) {
	var h Headers
	for _, pair := range [][2]string{
		{"x", "1"}, {"x-", "2"}, {"content-type", "3"}, {"x-modelx", "4"}, {"", "5"}, {"y-model", "6"},
		{HeaderMethod, "sample"}, {HeaderMaxWait, "59999"},
	} {
		h.Add(pair[0], pair[1])
	}
	got, r := h.Parse(false)
	if r != nil {
		t.Fatal(r)
	}
	if want := (Request{MaxWait: 59999 * time.Millisecond}); *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
	if value, lines := h.Method(); value != "sample" || lines != 1 {
		t.Errorf("method %q in %d lines", value, lines)
	}
	h.Add("X-Routing-Method", "sample")
	if _, lines := h.Method(); lines != 2 {
		t.Errorf("%d lines, want 2", lines)
	}
	h.Reset()
	if h != (Headers{}) {
		t.Error("Reset keeps something")
	}
}

func TestHeadersDoNotAllocate(t *testing.T) {
	var h Headers
	if n := testing.AllocsPerRun(100, func() {
		h.Reset()
		h.Add(HeaderModel, "m")
		h.Add(HeaderInputTokens, "128")
		h.Add("accept", "*/*")
		h.Parse(true)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
