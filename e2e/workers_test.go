// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// scatter makes every request come on a connection of its own, which the kernel
// gives to any worker. It returns when all workers serve and have met.
func (e *env) scatter() {
	e.t.Helper()
	e.client = &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	e.settle()
}

// settle waits for what a worker has learnt to reach the others: in one tick it
// tells, in another they hear.
func (e *env) settle() {
	e.t.Helper()
	e.passTick()
	e.passTick()
}

// conversations plays some talks turn by turn and returns the share of prompt
// tokens that engines found in their caches, and how often a talk moved.
func (e *env) conversations(talks, turns int) (hit float64, moved int) {
	list := make([]*talk, talks)
	home := make([]string, talks)
	for i := range list {
		list[i] = newTalk(i)
	}
	for range turns {
		for i, c := range list {
			a := e.steered(chatPath, c.body(e.t))
			if home[i] != "" && a.engine != home[i] {
				moved++
			}
			home[i] = a.engine
			c.reply(e.t, a)
		}
		e.settle()
	}
	prompt, cached := e.prefilled()
	return float64(cached) / float64(prompt), moved
}

// Two workers that tell each other what they learn find as much in the engines'
// caches as one that sees everything.
func TestTwoWorkersHitLikeOne(t *testing.T) {
	const talks, turns = 24, 6
	hits := map[int]float64{}
	for _, workers := range []int{1, 2} {
		e := start(t, options{workers: workers})
		e.scatter()
		hit, moved := e.conversations(talks, turns)
		t.Logf("%d workers: %.3f of the prompt tokens were cached, %d of %d turns moved", workers, hit, moved, talks*(turns-1))
		hits[workers] = hit
		if moved > talks*(turns-1)/20 {
			t.Errorf("%d workers: %d of %d turns moved to another engine", workers, moved, talks*(turns-1))
		}
		if workers > 1 {
			if n := e.stat("kvsteer_shared_placements_received"); n == 0 {
				t.Error("the workers have told each other nothing")
			}
			if n := e.stat("kvsteer_shared_faults") + e.stat("kvsteer_panics"); n != 0 {
				t.Errorf("%d faults", n)
			}
		}
	}
	if hits[2] < 0.95*hits[1] {
		t.Errorf("two workers hit %.3f, one hits %.3f", hits[2], hits[1])
	}
}

// What one worker has stored, a request that goes on from it finds through any.
func TestStoredAnswersAreFollowedByAnyWorker(t *testing.T) {
	e := start(t, options{workers: 2})
	e.scatter()
	for i := range 12 {
		a := e.steered("/v1/responses", fmt.Sprintf(`{"model":"m","input":"question %d %s"}`, i, strings.Repeat("why? ", 400)))
		_, rest, _ := strings.Cut(string(a.body), `"id":"`)
		id, _, ok := strings.Cut(rest, `"`)
		if !ok {
			t.Fatalf("no id in %.200s", a.body)
		}
		e.settle()
		for range 3 {
			b := e.steered("/v1/responses", fmt.Sprintf(`{"model":"m","input":"go on","previous_response_id":%q}`, id))
			if b.engine != a.engine {
				t.Errorf("%s is kept by %s, what follows went to %s", id, a.engine, b.engine)
			}
		}
	}
	e.await("ids are learnt", func() bool { return e.stat("kvsteer_answers_kept") >= 12 })
	if n := e.stat("kvsteer_answers_unknown"); n != 0 {
		t.Errorf("%d ids were not known", n)
	}
}

// Gateways that share nothing but the seed name the same engine for a
// conversation that began elsewhere and that neither has seen.
func TestGatewaysAgreeOnColdConversations(t *testing.T) {
	settings := `"gateways": 2, "hash_seed": 42, `
	a := start(t, options{workers: 1, settings: settings})
	b := *a
	b.startEnvoy(options{workers: 1, settings: settings})
	const talks = 24
	same := 0
	used := map[string]bool{}
	for i := range talks {
		c := newTalk(i)
		for k := range 6 {
			c.Messages = append(c.Messages, message{"assistant", prose(k, 1500)}, message{"user", prose(i+k, 500)})
		}
		body := c.body(t)
		x, y := a.steered(chatPath, body), b.steered(chatPath, body)
		if x.engine == y.engine {
			same++
		}
		used[x.engine] = true
	}
	t.Logf("%d of %d conversations agree", same, talks)
	if same < talks*9/10 || len(used) < 2 {
		t.Errorf("two gateways agree on %d of %d cold conversations, over %d engines", same, talks, len(used))
	}
}

// An engine that lost its cache tells so by what it had cached, though it never
// failed a request.
func TestEmptiedEngineIsNoticed(t *testing.T) {
	// Without metrics, which would tell of the restart before the answers do.
	e := start(t, options{workers: 1, edits: []string{
		`"admin_cluster": "kvsteer_admin"`, `"admin_cluster": "kvsteer_admin", "metrics": {"enabled": false}`}})
	list := make([]*talk, 16)
	home := map[string][]*talk{}
	for range 3 {
		for i := range list {
			if list[i] == nil {
				list[i] = newTalk(i)
				list[i].Messages[0].Content = prose(1000+i, 9000) // heads of their own
			}
			a := e.steered(chatPath, list[i].body(t))
			list[i].reply(t, a)
			home[a.engine] = append(home[a.engine], list[i])
		}
	}
	for address, talks := range home {
		if len(talks) < 9 {
			continue
		}
		if err := e.engine(address).Restart(); err != nil {
			t.Fatal(err)
		}
		e.client.CloseIdleConnections()
		e.passUsage(home, address)
		for i, c := range talks[:3] {
			if a := e.post(chatPath, c.body(t)); a.engine != address || a.status != http.StatusOK {
				t.Errorf("answer %d after the restart: status %d from %s", i, a.status, a.engine)
			}
		}
		e.awaitStat("kvsteer_endpoint_restarts", 1)
		return
	}
	t.Fatal("no engine has three conversations")
}

// passUsage waits until the plugin reads usages again that it has just read. It
// reads those of an endpoint once a second, so another one shows when that time
// is over.
func (e *env) passUsage(home map[string][]*talk, spared string) {
	e.t.Helper()
	e.passTick()
	for address, talks := range home {
		if address == spared {
			continue
		}
		before := e.stat("kvsteer_usages_read")
		e.await("usages of "+address+" are read twice", func() bool {
			if a := e.steered(chatPath, talks[0].body(e.t)); a.engine != address {
				e.t.Fatalf("a conversation of %s went to %s", address, a.engine)
			}
			return e.stat("kvsteer_usages_read") >= before+2
		})
		return
	}
	e.t.Fatalf("only %s has conversations", spared)
}

// A server that fails every request it gets is asked now and then only.
func TestFailingEngineGetsTrialsOnly(t *testing.T) {
	e := start(t, options{workers: 1})
	bad := e.engines[0]
	e.fault(bad.Address(), engine.Fault{Kind: engine.Status, Status: http.StatusInternalServerError})
	failed := 0
	for i := range 200 {
		if a := e.post(chatPath, newTalk(i).body(t)); a.status != http.StatusOK {
			failed++
		}
	}
	if failed == 0 || failed > 8 {
		t.Errorf("%d of 200 requests went to an engine that fails all", failed)
	}
	e.await("flights end", func() bool { return e.stat("kvsteer_flights_started") == e.stat("kvsteer_flights_ended") })
}

// Failures count against the engine that failed, whatever the client got.
func TestFailuresAreBlamedOnTheEngine(t *testing.T) {
	for _, f := range []engine.Fault{
		{Kind: engine.Refuse}, {Kind: engine.Reset}, {Kind: engine.Status, Status: http.StatusServiceUnavailable},
	} {
		t.Run(string(f.Kind), func(t *testing.T) {
			e := start(t, options{workers: 1})
			for _, one := range e.engines {
				e.fault(one.Address(), f)
			}
			if a := e.post(chatPath, newTalk(1).body(t)); a.status != http.StatusServiceUnavailable {
				t.Errorf("status %d, want 503", a.status)
			}
			e.awaitStat("kvsteer_endpoint_failures", 3) // as many as were tried
			e.awaitStat("kvsteer_placements_withdrawn", 1)
		})
	}
}
