// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// launchExample starts a published example with these edits. Answers tell the
// decision. There is one worker, so what one request has shown is known to the
// next.
func (e *env) launchExample(file string, edits ...string) {
	e.t.Helper()
	root := projectRoot(e.t)
	config, err := envoy.Example(root, "envoy/"+file, append(edits, `"pools": [`, `"decision_header": true, "pools": [`)...)
	if err != nil {
		e.t.Fatal(err)
	}
	e.launch(root, config, 1)
}

// A way is how a request names its model, and the engines of that model.
type way struct {
	path    string
	model   string // header x-model; "": none
	engines []*engine.Engine
}

// sendBy sends a talk and checks that it was answered by one of the way's
// engines, the one that kvsteer named.
func (e *env) sendBy(w way, c *talk) *answer {
	e.t.Helper()
	req := e.request(http.MethodPost, w.path, strings.NewReader(c.body(e.t)))
	if w.model != "" {
		req.Header.Set("X-Model", w.model)
	}
	a := e.send(req)
	right := slices.ContainsFunc(w.engines, func(one *engine.Engine) bool { return one.Address() == a.engine })
	if a.status != http.StatusOK || !right || a.engine != a.decision.endpoint || !a.decision.steered {
		e.t.Fatalf("%s, model %q: status %d from %q, decision %q\n%.200s",
			w.path, w.model, a.status, a.engine, a.header.Get("x-kvsteer-decision"), a.body)
	}
	return a
}

// stays holds a conversation of three turns, checks that it stays with its
// engine, and returns it and where it lives.
func (e *env) stays(w way, number int) (c *talk, home string) {
	e.t.Helper()
	c = newTalk(number)
	for turn := range 3 {
		a := e.sendBy(w, c)
		if home == "" {
			home = a.engine
		}
		if a.engine != home {
			e.t.Errorf("conversation %d, turn %d: served by %s, began at %s", number, turn, a.engine, home)
		}
		c.reply(e.t, a)
	}
	return c, home
}

// awaitSteered waits until the worker knows the engines of a path's pool.
func (e *env) awaitSteered(path string) {
	e.t.Helper()
	number := 0
	e.await(path+" is steered", func() bool {
		number--
		return e.post(path, newTalk(number).body(e.t)).decision.steered
	})
}

// envoy/pools.yaml: two models and a cluster that is no pool.
func TestSeveralPools(t *testing.T) {
	skipWithoutEnvoy(t)
	e := &env{t: t}
	e.startEngines(5)
	var ports []string
	for i, one := range e.engines {
		ports = append(ports, fmt.Sprintf("port_value: %d}", 8001+i), "port_value: "+port(one.Address())+"}")
	}
	e.launchExample("pools.yaml", ports...)
	chat := way{path: chatPath, engines: e.engines[:2]}
	coder := way{path: "/coder" + chatPath, engines: e.engines[2:4]}
	e.awaitSteered(chat.path)
	e.awaitSteered(coder.path)

	t.Run("conversations stay with an engine of their model", func(t *testing.T) {
		e := e.in(t)
		byHeader := way{path: chatPath, model: "coder", engines: coder.engines}
		for number := range 4 { // fewer than make the engines' rates differ
			e.stays(chat, number)
			e.stays(coder, number)
			e.stays(byHeader, 100+number)
		}
	})
	t.Run("a pool knows its own engines' caches only", func(t *testing.T) {
		e := e.in(t)
		c := newTalk(0)
		c.Messages[0].Content = "A prompt that nobody has seen. " + c.Messages[0].Content
		for _, w := range []way{chat, coder} {
			if a := e.sendBy(w, c); a.decision.match != 0 {
				t.Errorf("%s: match %d for what this pool hasn't seen", w.path, a.decision.match)
			}
			if a := e.sendBy(w, c); a.decision.match == 0 {
				t.Errorf("%s: no match for what this pool has seen", w.path)
			}
		}
	})
	t.Run("another cluster is left alone", func(t *testing.T) { e.in(t).leavesAlone(e.engines[4]) })
}

// leavesAlone checks that requests of the cluster "embeddings" reach its only
// host untouched.
func (e *env) leavesAlone(host *engine.Engine) {
	e.t.Helper()
	const requests, body = 5, `{"model":"m","input":"text"}`
	e.received()
	for range requests {
		req := e.request(http.MethodPost, "/v1/embeddings", strings.NewReader(body))
		req.Header.Set("X-Model", "coder")
		a := e.send(req)
		if a.status != http.StatusOK || a.engine != host.Address() || a.header.Get("x-kvsteer-decision") != "" {
			e.t.Errorf("status %d from %s with headers %v, want 200 from %s and no decision", a.status, a.engine, a.header, host.Address())
		}
		got := e.only()
		e.checkBody(got.Body, []byte(body))
		e.received()
	}
	e.awaitStat("kvsteer_bypass_no_pool", requests)
}

// envoy/dns.yaml: engines that share a name and a port, as pods behind a
// headless service do.
func TestEnginesFoundByDNS(t *testing.T) {
	skipWithoutEnvoy(t)
	e := &env{t: t}
	e.startPods(4)
	dns := startDNS(t)
	dns.answer(e.engines[:3])
	e.launchExample("dns.yaml", "port_value: 8000}", "port_value: "+port(e.engines[0].Address())+"}",
		"stats_config:", dns.resolver()+"stats_config:")
	e.awaitStat("kvsteer_endpoints", 3)
	e.awaitSteered(chatPath)

	var c *talk
	home := ""
	for number := range 4 {
		c, home = e.stays(way{path: chatPath, engines: e.engines[:3]}, number)
	}
	dns.answer(e.engines)
	number := 100
	e.await("an added address gets requests", func() bool {
		number++
		a := e.post(chatPath, newTalk(number).body(t))
		return a.decision.steered && a.engine == e.engines[3].Address()
	})
	// A pod ends, and what lives there goes on elsewhere, without a failure.
	gone := e.engine(home)
	dns.answer(slices.DeleteFunc(slices.Clone(e.engines), func(one *engine.Engine) bool { return one == gone }))
	gone.Close()
	e.await("its conversation lives elsewhere", func() bool {
		a := e.post(chatPath, c.body(t))
		if a.status != http.StatusOK {
			t.Fatalf("status %d after %s has ended", a.status, home)
		}
		return a.decision.endpoint != home
	})
	e.awaitStat("kvsteer_endpoints", 3)
	dns.askedOnly(t, "engines.default.svc.cluster.local.")
}

// startPods starts engines at loopback addresses of their own, with one port.
func (e *env) startPods(n int) {
	e.t.Helper()
	shared := "0"
	for i := range n {
		one, err := engine.Start(engine.Config{
			Listen: fmt.Sprintf("127.0.0.%d:%s", i+2, shared), PrefillRate: 1e9, DecodeRate: 1e9, DefaultTokens: 4,
		})
		if err != nil {
			e.t.Fatal(err)
		}
		e.t.Cleanup(one.Close)
		e.engines, shared = append(e.engines, one), port(one.Address())
	}
}
