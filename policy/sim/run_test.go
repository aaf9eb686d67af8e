// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func small(seed uint64) Trace { return HeadLoad{Heads: 20, Seconds: 30, Seed: seed}.Generate() }

func TestRunRepeatsToTheLastBit(t *testing.T) {
	for _, m := range Makers() {
		for _, view := range []View{ExactView, MetricsView} {
			c := Config{Trace: small(1), Engines: 4, Gateways: 2, LoadAge: 1, Model: HardModel(), View: view, Policy: m, Seed: 5}
			a, errA := Run(c)
			b, errB := Run(c)
			if a != b || errA != nil || errB != nil {
				t.Errorf("%s: %+v and %+v (%v, %v)", m.Name, a, b, errA, errB)
			}
			if a.Requests != len(c.Trace.Requests) {
				t.Errorf("%s: %d of %d requests were answered", m.Name, a.Requests, len(c.Trace.Requests))
			}
		}
	}
}

func TestRunRefusesWhatIsMissing(t *testing.T) {
	m, _ := Find("random")
	for _, c := range []Config{
		{Gateways: 1, Policy: m}, {Engines: 1, Policy: m}, {Engines: 1, Gateways: 1}, {Engines: 5000, Gateways: 1, Policy: m},
	} {
		if _, err := Run(c); !errors.Is(err, ErrConfig) {
			t.Errorf("Run(%d engines, %d gateways) = %v, want ErrConfig", c.Engines, c.Gateways, err)
		}
	}
}

// TestLossLosesNoRequest: an engine is lost with what it was asked, and comes
// back empty.
func TestLossLosesNoRequest(t *testing.T) {
	for _, m := range Makers() {
		c := Config{
			Trace: small(2), Engines: 4, Gateways: 2, LoadAge: 1, Model: SimpleModel(), Policy: m, Seed: 5,
			Changes: []Change{{At: 10, Engine: 2, Down: true}, {At: 20, Engine: 2}},
			View:    MetricsView,
		}
		got, err := Run(c)
		if err != nil || got.Requests != len(c.Trace.Requests) {
			t.Errorf("%s: %d of %d requests answered, %v", m.Name, got.Requests, len(c.Trace.Requests), err)
		}
	}
}

// TestBoundsBound: no policy is faster than engines that never evict and share
// their caches.
func TestBoundsBound(t *testing.T) {
	c := Config{Trace: small(3), Engines: 4, Gateways: 1, LoadAge: 0.5, Model: SimpleModel(), Seed: 5}
	c.Policy, _ = Find(infiniteName)
	bound, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Makers() {
		c.Policy = m
		if got, _ := Run(c); got.MeanFirstToken < bound.MeanFirstToken || got.HitRatio > bound.HitRatio {
			t.Errorf("%s: %.4f s, hit ratio %.3f; the bound has %.4f s, %.3f", m.Name, got.MeanFirstToken, got.HitRatio, bound.MeanFirstToken, bound.HitRatio)
		}
	}
}

// traceDir is where the public traces are, seen from this package.
const traceDir = "../../../shared/data/traces/mooncake"

func mooncake(t testing.TB, name string) Trace {
	t.Helper()
	f, err := os.Open(filepath.Join(traceDir, name+"_trace.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the public traces are not there: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := ReadMooncake(name, f, 1)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestMooncakeTraces(t *testing.T) {
	for name, want := range map[string]int{"conversation": 12031, "synthetic": 3993} {
		trace := mooncake(t, name)
		if len(trace.Requests) != want {
			t.Errorf("%s has %d requests, want %d", name, len(trace.Requests), want)
		}
		for i, r := range trace.Requests {
			if i > 0 && r.At < trace.Requests[i-1].At || len(r.Blocks) == 0 || r.Head > r.Prev && r.Prev > 0 {
				t.Fatalf("%s, request %d: %+v", name, i, r)
			}
		}
	}
}

// published is the mean first token of an earlier, independent simulation with
// the same engine model, whose caches age heads first: a check of the
// simulator, not of the policies.
var published = []struct {
	policy   string
	gateways int
	load     string
	seconds  float64
}{
	{"plain-round-robin", 1, "synthetic", 15.77},
	{"plain-round-robin", 1, "conversation", 3.16},
	{"plain-round-robin", 1, "1 head", 0.26},
	{"plain-round-robin", 1, "600 heads", 1.63},
	{"greedy-oracle", 1, "conversation", 1.40},
	{"greedy-oracle", 1, "600 heads", 0.25},
	{"greedy-oracle", 4, "conversation", 1.80},
	{"greedy-oracle", 4, "synthetic", 2.13},
	{"greedy-oracle", 4, "600 heads", 0.31},
	{"sticky-until-saturated", 1, "conversation", 1.43},
	{"sticky-until-saturated", 1, "synthetic", 1.58},
	{"dynamo-prefill", 1, "conversation", 1.43},
	{"dynamo-prefill", 1, "synthetic", 1.79},
	{"dynamo-prefill", 1, "600 heads", 0.59},
	{"least-tokens", 1, "conversation", 1.57},
	{"llm-d-without-kv", 1, "1 head", 310.04},
}

func TestSimulatorReproducesPublishedTables(t *testing.T) {
	loads := map[string]Trace{
		"conversation": mooncake(t, "conversation"), "synthetic": mooncake(t, "synthetic"),
		"1 head": HeadLoad{Heads: 1, Seed: 1}.Generate(), "600 heads": HeadLoad{Heads: 600, Seed: 1}.Generate(),
	}
	for _, p := range published {
		m, _ := Find(p.policy)
		c := Config{Trace: loads[p.load], Engines: 8, Gateways: p.gateways, LoadAge: 0.5, Model: SimpleModel(), Policy: m, Seed: 1}
		if p.gateways > 1 {
			c.LoadAge = 1
		}
		c.Model.HeadsFirst = true
		got, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if off := math.Abs(got.MeanFirstToken - p.seconds); off > max(0.05*p.seconds, 0.02) {
			t.Errorf("%s, %d gateways, %s: %.3f s, published %.2f", p.policy, p.gateways, p.load, got.MeanFirstToken, p.seconds)
		}
	}
}

// TestBoundsOfRouting holds what prefix-aware promises against the greedy
// oracle, which sees every cache: the ratio of mean first tokens over two seeds.
func TestBoundsOfRouting(t *testing.T) {
	conversation, synthetic := mooncake(t, "conversation"), mooncake(t, "synthetic")
	head := func(n int) Trace { return HeadLoad{Heads: n, Seed: 1}.Generate() }
	for _, b := range []struct {
		name     string
		trace    Trace
		gateways int
		most     float64
	}{
		{"conversation, one gateway", conversation, 1, 1.03},
		{"conversation at a twentieth, one gateway", conversation.Scale(0.05), 1, 1.03},
		{"synthetic, one gateway", synthetic, 1, 1.03},
		{"1 head, one gateway", head(1), 1, 1.03},
		{"20 heads, one gateway", head(20), 1, 1.03},
		{"150 heads, one gateway", head(150), 1, 1.03},
		{"600 heads, one gateway", head(600), 1, 1.03},
		{"conversation, four gateways", conversation, 4, 1.05},
		{"synthetic, four gateways", synthetic, 4, 1.15},
		{"1 head, four gateways", head(1), 4, 1.05},
		{"150 heads, four gateways", head(150), 4, 1.4},
		// The heads fill the caches to nine tenths, and rendezvous hashing gives
		// some engines more of them than fit: see RATIONALE.md.
		{"600 heads, four gateways", head(600), 4, 1.12},
	} {
		t.Run(b.name, func(t *testing.T) {
			ours, oracle := 0.0, 0.0
			for seed := range uint64(2) {
				c := Config{Trace: b.trace, Engines: 8, Gateways: b.gateways, LoadAge: 0.5, Model: SimpleModel(), Seed: seed}
				if b.gateways > 1 {
					c.LoadAge = 1
				}
				ours += mean(t, c, "prefix-aware")
				oracle += mean(t, c, "greedy-oracle")
			}
			if ratio := ours / oracle; ratio > b.most {
				t.Errorf("%.3f times the greedy oracle's first token, want at most %.2f", ratio, b.most)
			} else {
				t.Logf("%.3f", ratio)
			}
		})
	}
}

func mean(t *testing.T, c Config, policy string) float64 {
	t.Helper()
	c.Policy, _ = Find(policy)
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r.MeanFirstToken
}
