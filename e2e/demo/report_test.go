// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// resultOf makes a result whose first tokens came after 1, 2, … n times step.
func resultOf(name string, n int, step time.Duration, prefilled int) result {
	r := result{Name: name, Requests: n, Prompt: 1000, Prefilled: prefilled, PerEngine: []int{n, 0, 0, 0}}
	for i := range n {
		first := time.Duration(i+1) * step
		r.First = append(r.First, first)
		r.outcomes = append(r.outcomes, outcome{engine: "engine 1", sent: time.Duration(i) * time.Second, firstToken: first})
	}
	return r
}

func TestPercentiles(t *testing.T) {
	r := resultOf("", 200, time.Second, 0)
	for p, want := range map[float64]time.Duration{0: 1, 50: 100, 99: 198, 100: 200} {
		if got := r.Percentile(p); got != want*time.Second {
			t.Errorf("percentile %v = %v, want %v", p, got, want*time.Second)
		}
	}
	if got := r.Mean(); got != 100500*time.Millisecond {
		t.Errorf("mean = %v, want 100.5s", got)
	}
	if got := (&result{}).Percentile(50); got != 0 {
		t.Errorf("percentile of nothing = %v", got)
	}
}

func TestBusyMachineIsTold(t *testing.T) {
	results := []result{resultOf("round robin", 200, time.Second, 0), resultOf("kvsteer", 200, time.Second, 0)} // mean 100.5 s
	if got := blurred(results); got != "" {
		t.Errorf("nothing was late: %q", got)
	}
	late := make([]time.Duration, 200)
	results[1].Late = late
	late[199], late[198] = time.Hour, time.Hour
	if got := blurred(results); got != "" {
		t.Errorf("two of 200 were late: %q", got)
	}
	late[197] = 26 * time.Second
	if got := blurred(results); !strings.Contains(got, "26.00 s") {
		t.Errorf("three of 200 were late: %q", got)
	}
}

func TestClaims(t *testing.T) {
	slow := resultOf("round robin", 100, 2*time.Second, 600)
	less := resultOf("least request", 100, 3*time.Second, 700)
	failing := resultOf("kvsteer", 100, time.Second, 100)
	failing.Failed = 1
	for _, c := range []struct {
		name    string
		kvsteer result
		own     bool
		want    string // of each claim
	}{
		{"all true", resultOf("kvsteer", 100, time.Second, 300), true, "yyyyyy"},
		{"prefills more than half", resultOf("kvsteer", 100, time.Second, 301), true, "yyyyyn"},
		{"slower than one", resultOf("kvsteer", 100, 5*time.Second/2, 100), true, "ynnyyy"},
		{"a failure", failing, true, "nyyyyy"},
		{"a trace promises the mean", resultOf("kvsteer", 100, time.Second, 900), false, "yyy"},
	} {
		got := ""
		for _, claim := range claims([]result{slow, less, c.kvsteer}, c.own) {
			if claim.True {
				got += "y"
			} else {
				got += "n"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	broken := resultOf("kvsteer", 50, 10*time.Millisecond, 300)
	broken.outcomes[3].err = errors.New("reset")
	results := []result{resultOf("round robin", 100, 20*time.Millisecond, 600), resultOf("least request", 0, 0, 0), broken}
	file := filepath.Join(t.TempDir(), "a", "demo.html")
	r := &report{Workload: office(), Envoy: "1.2.3", Results: results, Claims: claims(results, true)}
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, banned := range []string{"http://", "https://", "<script", "src=", "@import", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(page, banned) {
			t.Errorf("the page contains %q", banned)
		}
	}
	for _, want := range []string{"<polyline", "chats and agents", "Envoy 1.2.3", "round robin", "time since the request, logarithmic", "prefers-color-scheme: dark"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func TestLinearScaleHasRoundTicks(t *testing.T) {
	for _, high := range []float64{0.1, 0.7, 3, 8.2, 100, 371} {
		ticks := linearScale("", 0, high, "%g").Ticks
		if len(ticks) < 4 || len(ticks) > 11 {
			t.Errorf("0 to %v: %d ticks %v", high, len(ticks), ticks)
		}
	}
}
