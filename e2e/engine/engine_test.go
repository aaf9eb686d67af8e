// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A clocked engine computes 1,000 tokens a second, decodes 10 a second, and
// has blocks of 4 tokens.
func clocked(cacheTokens int) *Engine {
	return newEngine(Config{
		CacheTokens: cacheTokens, BlockTokens: 4, PrefillRate: 1000, DecodeRate: 10,
	}.withDefaults())
}

// jobOf makes a job with a prompt of so many tokens; equal letters begin alike.
func jobOf(letter string, tokens, answer int) *job {
	return &job{prompt: []byte(strings.Repeat(letter, tokens*tokenBytes)), maxTokens: answer}
}

// run runs a job to its end and returns when its first token came.
func run(t *testing.T, e *Engine, j *job) (first time.Duration, cached int) {
	t.Helper()
	begun := time.Now()
	cached, err := e.prefill(t.Context(), j)
	if err != nil {
		t.Errorf("prefill: %v", err)
		return 0, 0
	}
	defer e.leave()
	first = time.Since(begun)
	if err := e.decode(t.Context(), j, func(string) error { return nil }); err != nil {
		t.Errorf("decode: %v", err)
	}
	return first, cached
}

func TestFirstTokenTakesUncachedTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		first, cached := run(t, e, jobOf("a", 400, 1))
		if first != 400*time.Millisecond || cached != 0 {
			t.Errorf("cold: first token after %v with %d cached, want 400ms and 0", first, cached)
		}
		first, cached = run(t, e, jobOf("a", 600, 1))
		if first != 200*time.Millisecond || cached != 400 {
			t.Errorf("grown: first token after %v with %d cached, want 200ms and 400", first, cached)
		}
		first, cached = run(t, e, jobOf("a", 600, 1))
		if first != time.Millisecond || cached != 599 {
			t.Errorf("repeated: first token after %v with %d cached, want 1ms and 599", first, cached)
		}
		j := jobOf("a", 600, 1)
		j.namespace = "other model"
		if _, cached = run(t, e, j); cached != 0 {
			t.Errorf("other model: %d cached, want 0", cached)
		}
	})
}

func TestPrefillIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		var firsts [3]time.Duration
		var cached [3]int
		for i, letter := range []string{"a", "b", "a"} {
			go func() { firsts[i], cached[i] = run(t, e, jobOf(letter, 100, 5)) }()
			synctest.Wait()
		}
		if s := e.Stats(); s.Waiting != 2 || s.Running != 1 {
			t.Errorf("at the start %d wait and %d run, want 2 and 1", s.Waiting, s.Running)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want := [3]time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 201 * time.Millisecond}
		if firsts != want {
			t.Errorf("first tokens after %v, want %v", firsts, want)
		}
		if cached[2] != 99 {
			t.Errorf("the third found %d tokens cached, want the 99 that the first left while it waited", cached[2])
		}
		if s := e.Stats(); s.Waiting != 0 || s.Running != 0 || s.Prefilled != 201 || s.Output != 15 {
			t.Errorf("at the end %+v", s)
		}
	})
}

func TestDecodeRunsBesidesPrefill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		go run(t, e, jobOf("a", 100, 100))
		time.Sleep(150 * time.Millisecond)
		if first, _ := run(t, e, jobOf("b", 100, 1)); first != 100*time.Millisecond {
			t.Errorf("first token after %v while another decodes, want 100ms", first)
		}
		time.Sleep(time.Minute)
	})
}

func TestClientThatLeavesFreesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		ctx, leave := context.WithCancel(t.Context())
		for _, letter := range []string{"a", "b"} {
			go func() {
				if _, err := e.prefill(ctx, jobOf(letter, 1000, 1)); err == nil {
					t.Errorf("prefill of %s went on without its client", letter)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(100 * time.Millisecond)
		leave()
		synctest.Wait()
		if first, _ := run(t, e, jobOf("c", 50, 1)); first != 50*time.Millisecond {
			t.Errorf("first token after %v, want 50ms: those before have left", first)
		}
		if s := e.Stats(); s.Waiting != 0 || s.Running != 0 {
			t.Errorf("%d wait and %d run after all have left", s.Waiting, s.Running)
		}
	})
}

func TestAnswerStaysInTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		j := jobOf("a", 100, 40)
		if _, err := e.prefill(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		var answer bytes.Buffer
		begun := time.Now()
		if err := e.decode(t.Context(), j, func(s string) error { answer.WriteString(s); return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 3900*time.Millisecond {
			t.Errorf("40 tokens took %v, want 3.9s: the first comes with prefill", took)
		}
		next := &job{prompt: append(j.prompt, answer.String()+turnEnd+"and then?"...), maxTokens: 1}
		if _, cached := run(t, e, next); cached < 140 {
			t.Errorf("the next turn found %d tokens, want the prompt's 100 and the answer's 40", cached)
		}
	})
}

func TestSlowFaultStretchesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := clocked(10_000)
		if err := e.SetFault(Fault{Kind: Slow, Factor: 3}); err != nil {
			t.Fatal(err)
		}
		if first, _ := run(t, e, jobOf("a", 100, 1)); first != 300*time.Millisecond {
			t.Errorf("first token after %v at a third of the speed, want 300ms", first)
		}
	})
}
