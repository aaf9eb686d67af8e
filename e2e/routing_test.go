// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// everyAlgorithm is a routing section that lets requests ask for all.
const everyAlgorithm = `{"request_algorithms": {"power-of-n": "power-of-n", "wait-and-widen": "wait-and-widen",
	"round-robin": "round-robin", "random": "random", "pulsar": "pulsar", "pulsar-wait-and-widen": "pulsar-wait-and-widen",
	"topology": "topology", "least-load": "least-load"}}`

func TestAlgorithmsRouteByTheirRules(t *testing.T) {
	whole := startSite(t, everyAlgorithm)
	in := func(name string, f func(t *testing.T, s *site)) {
		t.Run(name, func(t *testing.T) {
			s := *whole
			s.env = whole.in(t)
			s.idle()
			f(t, &s)
		})
	}
	in("round-robin", func(t *testing.T, s *site) {
		for i := range 13 {
			if got := s.to("Round_Robin"); got != i%6+1 {
				t.Errorf("request %d goes to engine %d, want %d", i, got, i%6+1)
			}
		}
		if got := s.to("round-robin", "x-routing-key", "tenant"); got != 1 {
			t.Errorf("another scope begins with engine %d", got)
		}
	})
	in("random", func(t *testing.T, s *site) {
		seen := map[int]int{}
		for range 120 {
			seen[s.to("random")]++
		}
		if len(seen) != 6 {
			t.Errorf("120 requests by engine: %v", seen)
		}
	})
	in("power-of-n", powerOfN)
	in("wait-and-widen", waitAndWiden)
	in("pulsar", pulsar)
	in("pulsar-wait-and-widen", func(t *testing.T, s *site) {
		home := s.to("pulsar", "x-cache-affinity-key", "k")
		s.script(home, show{running: 50, slots: 1})
		s.goesTo(home, "pulsar-wait-and-widen", "x-cache-affinity-key", "k") // without a limit: even if it is full
	})
	in("prefix-aware, topology", func(t *testing.T, s *site) {
		for _, method := range []string{"prefix-aware", "topology"} {
			first := s.to(method)
			for range 4 {
				if got := s.to(method); got != first {
					t.Errorf("%s: one conversation goes to engines %d and %d", method, first, got)
				}
			}
		}
	})
	in("least-load", func(t *testing.T, s *site) {
		for n := 1; n <= 6; n++ {
			if n != 2 {
				s.script(n, show{waiting: 20, running: 20})
			}
		}
		s.goesTo(2, "least-load")
	})
}

// powerOfN compares all six by one statistic after the other.
func powerOfN(t *testing.T, s *site) {
	const all = "power-of-n;sample_count=6;comparator="
	if got := s.to(all+"input-work-seconds", "x-input-tokens", "100000"); got != 6 {
		t.Errorf("by work the fastest wins: engine %d, want 6", got)
	}
	for n := 1; n <= 6; n++ {
		s.script(n, show{waiting: (n + 2) % 6, running: 10 * ((n + 4) % 6), slots: 100})
	}
	s.goesTo(4, all+"num-requests-queued") // (4+2)%6 = 0
	s.goesTo(2, all+"utilization")         // (2+4)%6 = 0
	for _, e := range []string{"power-of-two;sample_count=1", "powerOf2"} {
		if s.to(e) == 0 {
			t.Errorf("%s goes nowhere", e)
		}
	}
}

// waitAndWiden: 60,000 tokens take 60, 30, 20, 15, 12 and 10 s, so only the
// fastest is open at once.
func waitAndWiden(t *testing.T, s *site) {
	s.goesTo(6, "wait-and-widen", "x-input-tokens", "60000")
	s.script(6, show{running: 5, slots: 3}) // two above its slots, as in fill
	s.await("a full engine gives 503", func() bool { return s.ask("wait-and-widen", "x-input-tokens", "60000").status == 503 })
	s.goesTo(6, "wait-and-widen;max_queued=5", "x-input-tokens", "60000")

	// The next bucket is 2 s behind and costs a quarter of that.
	before := time.Now()
	if got := s.to("wait-and-widen", "x-input-tokens", "60000", "x-max-wait-ms", "5000"); got != 5 {
		t.Errorf("the next bucket is engine %d, want 5", got)
	}
	if waited := time.Since(before); waited < 450*time.Millisecond {
		t.Errorf("the next bucket opened after %v, want 0.5 s at least", waited)
	}
}

// pulsar: keys keep their engines; faster ones have more of them; one whose
// cache is full is passed over where the request says so.
func pulsar(t *testing.T, s *site) {
	count := map[int]int{}
	for i := range 240 {
		count[s.to("pulsar", "x-cache-affinity-key", fmt.Sprint("key", i))]++
	}
	if count[6]+count[5]+count[4] < 2*(count[1]+count[2]+count[3])-30 {
		t.Errorf("240 keys by engine, of rates 1 to 6: %v", count)
	}
	home := s.to("pulsar", "x-cache-affinity-key", "k", "x-input-tokens", "5000")
	moved := false
	for i := range 20 {
		moved = moved || s.to(fmt.Sprintf("pulsar;seed=s%d", i), "x-cache-affinity-key", "k") != home
	}
	if !moved {
		t.Error("twenty seeds give one engine")
	}
	s.script(home, show{kvUse: 0.6}) // 4,000 of 10,000 tokens are free
	s.goesTo(home, "pulsar", "x-cache-affinity-key", "k", "x-input-tokens", "5000")
	s.await("a full cache is passed over", func() bool {
		return s.to("pulsar;consider_kv_free_tokens=true", "x-cache-affinity-key", "k", "x-input-tokens", "5000") != home
	})
	s.goesTo(home, "pulsar;consider_kv_free_tokens=true", "x-cache-affinity-key", "k", "x-input-tokens", "3000")
}

// What is refused is refused before any engine hears of it.
func TestRefusedExpressions(t *testing.T) {
	s := startSite(t, everyAlgorithm)
	for _, c := range []struct{ expression, code, body string }{
		{"sticky", "unknown_method", `{"error":"unknown routing method sticky","code":"unknown_method"}`},
		{"pulsar;n=2", "unsupported_parameter", `{"error":"pulsar does not take parameter n","code":"unsupported_parameter","parameter":"n"}`},
		{"power-of-n;n=1;n=1", "malformed_expression", `{"error":"parameter n appears twice","code":"malformed_expression","reason":"duplicate_key","parameter":"n"}`},
		{"wait-and-widen;cache_affinity_virtual_nodes=999999999999999", "invalid_value",
			`{"error":"cache_affinity_virtual_nodes must be 1 to 1024","code":"invalid_value","reason":"out_of_range","parameter":"cache_affinity_virtual_nodes"}`},
	} {
		a := s.ask(c.expression)
		if a.status != 400 || a.header.Get("x-routing-error") != c.code || string(a.body) != c.body || a.header.Get("content-type") != "application/json" {
			t.Errorf("%s: %d %v %s\nwant 400 %s %s", c.expression, a.status, a.header, a.body, c.code, c.body)
		}
	}
	req := s.asking("random")
	req.Header.Add("x-routing-method", "random")
	if a := s.send(req); a.status != 400 || !strings.Contains(string(a.body), "multiple_lines") {
		t.Errorf("two lines: %d %s", a.status, a.body)
	}
	req = s.asking("random", "x-priority", "-1")
	if a := s.send(req); a.status != 400 || a.header.Get("x-routing-error") != "invalid_header" {
		t.Errorf("x-priority -1: %d %s", a.status, a.body)
	}
	if all := s.received(); len(all) != 0 {
		t.Errorf("the engines got %d requests", len(all))
	}
	s.awaitStat("kvsteer_routing_expression_rejections_total.method.pulsar.code.unsupported_parameter", 1)
}

func TestRoutingHeadersStayInside(t *testing.T) {
	s := startSite(t, everyAlgorithm)
	for _, one := range s.engines {
		one.SetScript(engine.Script{Header: http.Header{"X-Routing-Error": {"forged"}, "X-Other": {"kept"}}})
	}
	get := s.request(http.MethodGet, "/v1/models", nil)
	for name, req := range map[string]*http.Request{"asked": s.asking("random", "x-routing-error", "forged"), "not asked": s.asking(""), "GET": get} {
		a := s.send(req)
		if a.header.Get("x-routing-error") != "" || a.header.Get("x-other") != "kept" {
			t.Errorf("%s: the client gets %v", name, a.header)
		}
		got := s.only()
		for _, h := range []string{"x-routing-method", "x-routing-error", "x-gateway-destination-endpoint"} {
			if v := got.Header.Get(h); v != "" {
				t.Errorf("%s: the engine gets %s: %s", name, h, v)
			}
		}
		if name != "GET" && got.Header.Get("x-model") != "sim" {
			t.Errorf("%s: the engine gets %v", name, got.Header)
		}
	}
}

// Two gateways that have the expression before and after a change take turns.
func TestAlternatingExpressionsDontRebuild(t *testing.T) {
	s := startSite(t, everyAlgorithm)
	for range 30 {
		s.ask("pulsar;seed=old")
		s.ask(`pulsar; seed="new"`)
	}
	s.awaitStat("kvsteer_routing_definition_cache_total.method.pulsar.result.hit", 58)
	if got := s.stat("kvsteer_routing_definition_cache_total.method.pulsar.result.miss"); got != 2 {
		t.Errorf("%d definitions were built, want 2", got)
	}
}

// While requests wait another configuration comes: they keep the definition
// they have, and all of their bytes.
func TestConfigurationChangesWhileRequestsWait(t *testing.T) {
	const limited = `{"request_algorithms": {"wait-and-widen": {"algorithm": "wait-and-widen", "max_queued": %d}, "random": "random"}}`
	s := startSite(t, fmt.Sprintf(limited, 0))
	s.fill()

	const waiting = 5
	body := newTalk(1).body(t)
	answers := make(chan *answer, waiting)
	for i := range waiting {
		req := s.asking("wait-and-widen", "x-max-wait-ms", "60000", "x-test", fmt.Sprint(i))
		go func() { answers <- s.send(req) }()
	}
	s.await("the requests are held", func() bool {
		return s.stat("kvsteer_routing_wait_retries_total") > 10*waiting
	})
	loads := s.stat("kvsteer_routing_config_loads_total.result.accepted")
	s.configure(fmt.Sprintf(limited, 5))
	s.await("the configuration is in force", func() bool {
		return s.stat("kvsteer_routing_config_loads_total.result.accepted") > loads && s.ask("wait-and-widen").status == 200
	})
	s.received()
	retries := s.stat("kvsteer_routing_wait_retries_total")
	s.await("the held ones go on being tried", func() bool { return s.stat("kvsteer_routing_wait_retries_total") > retries+10*waiting })
	if n := len(answers); n != 0 {
		t.Errorf("%d held requests went by the other configuration", n)
	}
	s.script(3, show{running: 1, slots: 2})
	for range waiting {
		select {
		case a := <-answers:
			if a.status != 200 || a.engine != s.engines[2].Address() {
				t.Errorf("status %d from %s, want 200 from engine 3", a.status, a.engine)
			}
		case <-time.After(patience):
			t.Fatal("a held request is not let go")
		}
	}
	for _, got := range s.received() {
		s.checkBody(got.Body, []byte(body))
	}
}

// A request is held whatever of its body has come, and whatever comes then.
func TestHeldBodiesArriveWhole(t *testing.T) {
	s := startSite(t, everyAlgorithm)
	long := newTalk(2)
	long.Messages[1].Content = prose(2, 400_000)
	for name, c := range map[string]struct{ text, method string }{
		"short": {newTalk(3).body(t), "POST"}, "long": {long.body(t), "POST"}, "no body": {"", "GET"},
	} {
		s.fill()
		conn := s.dial()
		half := len(c.text) / 2
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: gateway\r\nx-model: sim\r\nx-routing-method: wait-and-widen\r\nx-max-wait-ms: 60000\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.method, chatPath, len(c.text), c.text[:half])
		retries, started := s.stat("kvsteer_routing_wait_retries_total"), s.stat("kvsteer_flights_started")
		s.await(name+" is held", func() bool { return s.stat("kvsteer_routing_wait_retries_total") > retries+10 })
		fmt.Fprint(conn, c.text[half:len(c.text)-half/2])
		s.script(6, show{running: 1, slots: 2}) // the fastest, whose bucket is open at once
		s.await(name+" goes on", func() bool { return s.stat("kvsteer_flights_started") == started+1 })
		fmt.Fprint(conn, c.text[len(c.text)-half/2:])
		a := s.readFrom(conn, &http.Request{Method: c.method})
		if c.method == "POST" && a.status != 200 {
			t.Errorf("%s: status %d", name, a.status)
		}
		found := false
		for _, got := range s.received() {
			found = found || string(got.Body) == c.text && got.Method == c.method
		}
		if !found {
			t.Errorf("%s: no engine got what was sent", name)
		}
	}
}
