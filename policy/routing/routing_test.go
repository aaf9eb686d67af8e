// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/stargate"
	"github.com/kvsteer/kvsteer/policy/table"
)

func testCatalog(t testing.TB) *expr.Catalog {
	t.Helper()
	c, err := Catalog()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everything enables each algorithm for each model.
const everything = `{"request_algorithms":{"prefix-aware":"prefix-aware","topology":"topology","least-load":"least-load",
	"power-of-n":"power-of-n","wait-and-widen":"wait-and-widen","round-robin":"round-robin","random":"random",
	"pulsar":"pulsar","pulsar-wait-and-widen":"pulsar-wait-and-widen"}}`

// parsed reads a document that has no faults.
func parsed(t testing.TB, document string) *expr.Config {
	t.Helper()
	c, err := testCatalog(t).ParseConfig(document, "/routing")
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return c
}

func testRouter(t testing.TB, document string) *Router {
	t.Helper()
	return NewRouter(parsed(t, document), 1, nil, nil)
}

// testPool has n endpoints, each with statistics of its own.
func testPool(t testing.TB, n int) *policy.Pool {
	t.Helper()
	tab, err := table.New(table.Sized(1<<20, 64))
	if err != nil {
		t.Fatal(err)
	}
	p := policy.NewPool(policy.Settings{}, policy.DefaultPrefixAware(), tab)
	var specs []load.Spec
	for i := range n {
		specs = append(specs, load.Spec{ID: fmt.Sprintf("10.0.0.%d:80", i), Healthy: true})
	}
	p.SetEndpoints(specs)
	for i, e := range p.View().Endpoints() {
		p.View().Report(e, load.Stats{
			At: time.Second, Waiting: float64(i), Running: float64(2 * i), MaxConcurrency: 64,
			InputRate: 1000, RTT: time.Millisecond, KVCapacity: 1000, KVFree: float64(100 * i),
		})
	}
	return p
}

func resolve(t testing.TB, r *Router, expression string) *Choice {
	t.Helper()
	q := expr.Query{Model: "m", Value: expression}
	if expression != "" {
		q.Lines = 1
	}
	c, rejection := r.Resolve(q, time.Second)
	if rejection != nil {
		t.Fatalf("%s: %v", expression, rejection)
	}
	r.Settle(&c, 1, time.Second)
	return &c
}

// prompt is a request whose body is known.
func prompt() *policy.Request {
	return &policy.Request{
		Now: 2 * time.Second, Hashes: []uint64{1, 2}, Ends: []uint32{256, 512}, TagKnown: true,
		Length: 512, LengthKnown: true, Complete: true, Key: 7, KeyKnown: true, HeadKnown: true,
	}
}

var expressions = []string{
	"", "prefix-aware;token_price=1.5;ignore_prior=true", "topology;sticky_until_ms=100", "least-load",
	"power-of-n;sample_count=3", "wait-and-widen", "wait-and-widen;cache_affinity_backend_selection_count=2",
	"round-robin", "random", "pulsar;seed=a", "pulsar;consider_kv_free_tokens=true", "pulsar-wait-and-widen;n=1",
}

func TestEveryAlgorithmPicksInAPool(t *testing.T) {
	router, runner := testRouter(t, everything), NewRunner(1, stargate.Limits{})
	for _, e := range expressions {
		pool, c := testPool(t, 6), resolve(t, router, e)
		r := prompt()
		failed := pool.View().Endpoints()[5]
		r.Excluded = []int{failed.Index}
		for range 20 {
			a := runner.Bind(c.Definition, c.Instance, pool, &stargate.Request{Model: "m"})
			d := pool.Pick(a, r)
			if d.N != policy.MaxChoices || !d.Final || a.Name() != c.Algorithm {
				t.Fatalf("%q: %d endpoints by %s, final %v", e, d.N, a.Name(), d.Final)
			}
			for i, x := range d.Endpoints {
				if x == failed || slices.Contains(d.Endpoints[:i], x) {
					t.Fatalf("%q: endpoint %d failed before or is there twice", e, i)
				}
			}
		}
	}
}

// TestPulsarSeesThePool compares with a pick from endpoints made by hand.
func TestPulsarSeesThePool(t *testing.T) {
	router, runner, pool := testRouter(t, everything), NewRunner(1, stargate.Limits{}), testPool(t, 6)
	c := resolve(t, router, "pulsar;seed=a;consider_kv_free_tokens=true")
	d := pool.Pick(runner.Bind(c.Definition, c.Instance, pool, &stargate.Request{Model: "m", RoutingKey: "k"}), prompt())
	outcome := runner.Outcome()
	var list []stargate.Endpoint
	for i := range 6 {
		list = append(list, stargate.Endpoint{
			ID: fmt.Sprintf("10.0.0.%d:80", i), TPS: 1000, KVCapacity: 1000, KVFree: uint64(100 * i),
		})
	}
	want, wantOutcome := stargate.NewPicker(stargate.Limits{}).Pick(nil, stargate.Query{
		Definition: c.Definition.Stargate(), Endpoints: list, Want: 3,
		Request: &stargate.Request{
			Model: "m", RoutingKey: "k", AffinityKey: "0000000000000007", InputTokens: 128, HasInputTokens: true,
		},
	})
	for i, at := range want {
		if got := d.Endpoints[i]; got == nil || got.ID != list[at].ID {
			t.Errorf("choice %d is %v, want %s", i, got, list[at].ID)
		}
	}
	if len(want) != d.N || outcome != wantOutcome {
		t.Errorf("%d choices %+v, want %d %+v", d.N, outcome, len(want), wantOutcome)
	}
}

func TestRoundRobinKeepsItsTurnPerTarget(t *testing.T) {
	router, runner, pool := testRouter(t, everything), NewRunner(1, stargate.Limits{}), testPool(t, 3)
	next := func(model string) string {
		c, rejection := router.Resolve(expr.Query{Model: model, Value: "round-robin", Lines: 1}, 0)
		if rejection != nil {
			t.Fatal(rejection)
		}
		router.Settle(&c, 3, 0)
		d := pool.Pick(runner.Bind(c.Definition, c.Instance, pool, &stargate.Request{Model: model}), prompt())
		return d.First().ID
	}
	for i := range 7 {
		for _, model := range []string{"a", "b"} {
			if got, want := next(model), fmt.Sprintf("10.0.0.%d:80", i%3); got != want {
				t.Errorf("turn %d of %s: %s, want %s", i, model, got, want)
			}
		}
	}
}

// TestRandomStreamsDiffer: definitions and workers don't draw alike.
func TestRandomStreamsDiffer(t *testing.T) {
	config := parsed(t, `{"request_algorithms":{"random":"random"},"models":{"a":"random"}}`)
	runner, pool := NewRunner(1, stargate.Limits{}), testPool(t, 6)
	seen := map[string]bool{}
	draws := func(r *Router, model string) {
		c, _ := r.Resolve(expr.Query{Model: model, Value: "random", Lines: 1}, 0)
		line := ""
		for range 20 {
			line += pool.Pick(runner.Bind(c.Definition, c.Instance, pool, &stargate.Request{}), prompt()).First().ID + " "
		}
		if seen[line] {
			t.Errorf("model %s has the draws of another: %s", model, line)
		}
		seen[line] = true
	}
	for seed := range uint64(3) {
		r := NewRouter(config, seed, nil, nil)
		draws(r, "a")
		draws(r, "b")
	}
}

// TestBaselinesTakeNoParameters holds what the specification says of them, but
// for the operator's policies.
func TestBaselinesTakeNoParameters(t *testing.T) {
	for _, name := range []string{"round-robin", "random"} {
		settingsOf(t, name).All(func(p *expr.Parameter, _ expr.Value) {
			if !p.Operator {
				t.Errorf("%s takes %s", name, p.Name)
			}
		})
	}
}

func TestHashWaitsForTheConversation(t *testing.T) {
	router, runner, pool := testRouter(t, everything), NewRunner(1, stargate.Limits{}), testPool(t, 3)
	for expression, want := range map[string][2]policy.Need{
		"pulsar;seed=a":      {policy.NeedKey, policy.NeedNothing},
		"wait-and-widen;n=3": {policy.NeedNothing, policy.NeedNothing},
		"wait-and-widen;cache_affinity_backend_selection_count=1": {policy.NeedKey, policy.NeedNothing},
		"prefix-aware": {policy.NeedPrompt, policy.NeedPrompt},
	} {
		c := resolve(t, router, expression)
		for i, key := range []string{"", "k"} {
			if got := runner.Bind(c.Definition, c.Instance, pool, &stargate.Request{AffinityKey: key}).Need(); got != want[i] {
				t.Errorf("%s with key %q needs %v, want %v", expression, key, got, want[i])
			}
		}
	}
}

func TestSettingsReachTheAlgorithm(t *testing.T) {
	router := testRouter(t, everything)
	for expression, want := range map[string]policy.Definition{
		"prefix-aware": policy.DefaultPrefixAware(),
		"topology":     policy.DefaultTopology(),
		"topology;sticky_until_ms=500;overload_factor=1.5": policy.Topology{Overload: 1.5, OverloadSeconds: 0.5},
		"least-load":  policy.LeastLoad{},
		"round-robin": policy.RoundRobin{},
		"random":      policy.Random{},
	} {
		if got := resolve(t, router, expression).Definition.own; got != want {
			t.Errorf("%s is %+v, want %+v", expression, got, want)
		}
	}
	a := policy.DefaultPrefixAware()
	a.Price, a.TieSeconds, a.IgnorePrior = 1.25, 0.02, true
	if got := resolve(t, router, "prefix-aware;token_price=1.25;tie_band_ms=20;ignore_prior=true").Definition.own; got != a {
		t.Errorf("prefix-aware is %+v, want %+v", got, a)
	}
}

func TestTrimKeepsTheFirst(t *testing.T) {
	router := testRouter(t, everything)
	for expression, want := range map[string]int{"least-load;fallbacks=0": 1, "least-load;fallbacks=1": 2, "least-load": 3, "random": 3} {
		d := testPool(t, 6).Pick(policy.LeastLoad{}, prompt())
		first := d.First()
		resolve(t, router, expression).Definition.Trim(&d)
		if d.N != want || d.First() != first || want < 3 && d.Endpoints[want] != nil {
			t.Errorf("%s keeps %d, want %d", expression, d.N, want)
		}
	}
}

func TestAdmissionServesEveryAlgorithm(t *testing.T) {
	const limited = `{"default":{"algorithm":"prefix-aware","max_input_work_seconds":0.5},
		"models":{"p":{"algorithm":"pulsar","max_input_work_seconds":0.5}}}`
	router, runner, pool := testRouter(t, limited), NewRunner(1, stargate.Limits{}), testPool(t, 2)
	for _, model := range []string{"m", "p"} {
		c, _ := router.Resolve(expr.Query{Model: model}, 0)
		r, p := &stargate.Request{Model: model, InputTokens: 1000, HasInputTokens: true}, prompt()
		if got := runner.Admit(c.Definition, pool, r, p); got != stargate.Admitted {
			t.Errorf("%s: half a second of work: %v", model, got)
		}
		r.InputTokens++
		if got := runner.Admit(c.Definition, pool, r, p); got != stargate.OverLimit {
			t.Errorf("%s: more: %q", model, got)
		}
		r.HasInputTokens, p.Length = false, 4*1001
		if got := runner.Admit(c.Definition, pool, r, p); got != stargate.OverLimit {
			t.Errorf("%s: more by the prompt's length: %q", model, got)
		}
		p.Excluded = []int{pool.View().Endpoints()[0].Index}
		r.InputTokens, r.HasInputTokens = 501, true
		if got := runner.Admit(c.Definition, pool, r, p); got != stargate.OverLimit {
			t.Errorf("%s: more than one endpoint's share: %q", model, got)
		}
	}
}

func TestOldStatisticsAreUnknown(t *testing.T) {
	e := testPool(t, 3).View().Endpoints()[2]
	fresh, old := endpoint(e, false, 2*time.Second), endpoint(e, false, 11*time.Second)
	if fresh.MaxConcurrency != 64 || fresh.KVFree != 200 || fresh.RTT != 1 {
		t.Errorf("fresh: %+v", fresh)
	}
	if old.MaxConcurrency != 0 || old.KVCapacity != 0 || old.RTT != 0 || old.TPS != 1000 {
		t.Errorf("old: %+v", old)
	}
}

func TestRateForRankingsIsNotLearnt(t *testing.T) {
	e := &load.Endpoint{Prefill: load.NewRate(nil, 123)}
	if got := rate(e, true); got != 8000 {
		t.Errorf("stable rate %v, want 8000", got)
	}
	if got := rate(e, false); got != 123 {
		t.Errorf("learnt rate %v, want 123", got)
	}
	e.Weight = 2
	if got := rate(e, true); got != 16000 {
		t.Errorf("stable rate of twice the capacity %v, want 16000", got)
	}
	e.Rate = 500
	if got := rate(e, true); got != 500 {
		t.Errorf("configured rate %v, want 500", got)
	}
}

func TestWarmRequestDoesNotAllocate(t *testing.T) {
	router, runner, pool := testRouter(t, everything), NewRunner(1, stargate.Limits{}), testPool(t, 16)
	r, q := prompt(), &stargate.Request{Model: "m"}
	for _, e := range expressions {
		query := expr.Query{Model: "m", Value: e}
		if e != "" {
			query.Lines = 1
		}
		request := func() {
			c, _ := router.Resolve(query, time.Second)
			router.Settle(&c, 16, time.Second)
			d := pool.Pick(runner.Bind(c.Definition, c.Instance, pool, q), r)
			c.Definition.Trim(&d)
		}
		for range 3 {
			request()
		}
		if n := testing.AllocsPerRun(100, request); n != 0 {
			t.Errorf("%q: %v allocations, want 0", e, n)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	router, runner, pool := testRouter(b, everything), NewRunner(1, stargate.Limits{}), testPool(b, 16)
	r, q := prompt(), &stargate.Request{Model: "m", AffinityKey: "conversation-1"}
	for _, e := range []string{"power-of-n;sample_count=3", "wait-and-widen;n=3", "pulsar;seed=a"} {
		b.Run(e, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c, _ := router.Resolve(expr.Query{Model: "m", Value: e, Lines: 1}, time.Second)
				router.Settle(&c, 16, time.Second)
				pool.Pick(runner.Bind(c.Definition, c.Instance, pool, q), r)
			}
		})
	}
}

// BenchmarkNeverSeen parses, overlays, compiles and inserts.
func BenchmarkNeverSeen(b *testing.B) {
	router := testRouter(b, everything)
	values := make([]string, 4096)
	for i := range values {
		values[i] = fmt.Sprintf("wait-and-widen;n=3;max_queue_time_floor_ms=%d;max_queue_time_ceil_ms=90000;next_bucket_unlock_factor=0.5", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c, _ := router.Resolve(expr.Query{RoutingKey: "team-a", Model: "m", Value: values[i%len(values)], Lines: 1}, time.Second)
		router.Settle(&c, 16, time.Second)
	}
}

// TestStatisticsCountInFullUntilTheyAreUnknown: an engine that runs much and has
// nothing waiting does not look emptier than an idle one as time goes by.
func TestStatisticsCountInFullUntilTheyAreUnknown(t *testing.T) {
	v := &load.View{}
	v.SetEndpoints([]load.Spec{{ID: "a", Healthy: true}})
	e := v.Endpoints()[0]
	v.Report(e, load.Stats{At: time.Second, Waiting: 2, Running: 30, MaxConcurrency: 64, QueuedTokens: 500})
	for _, age := range []time.Duration{0, time.Second, 9 * time.Second} {
		v.Tick(time.Second + age)
		got := endpoint(e, false, time.Second+age)
		if got.QueueSize != 2 || got.Running != 32 || got.QueuedInputTokens != 500 {
			t.Errorf("after %v: %d in the queue, %d running, %d tokens; want 2, 32, 500", age, got.QueueSize, got.Running, got.QueuedInputTokens)
		}
	}
}
