// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// Where the engine that was named fails before it answers, the next in the
// list serves.
func TestNextInTheListServes(t *testing.T) {
	for _, f := range []engine.Fault{
		{Kind: engine.Refuse}, {Kind: engine.Reset}, {Kind: engine.Status, Status: http.StatusServiceUnavailable},
	} {
		t.Run(string(f.Kind), func(t *testing.T) {
			e := start(t, options{workers: 1})
			c := newTalk(1)
			first := e.steered(chatPath, c.body(t))
			c.reply(t, first)
			e.fault(first.engine, f)
			a := e.post(chatPath, c.body(t))
			if a.status != http.StatusOK || a.decision.endpoint != first.engine || a.engine == first.engine {
				t.Errorf("status %d from %s, decision %+v: want %s named and another to serve", a.status, a.engine, a.decision, first.engine)
			}
			for range 5 {
				if a := e.post(chatPath, c.body(t)); a.status != http.StatusOK {
					t.Errorf("status %d while one engine of four is down", a.status)
				}
			}
			e.await("flights end", func() bool { return e.stat("kvsteer_flights_started") == e.stat("kvsteer_flights_ended") })
			if e.stat("cluster.engines.upstream_rq_retry_success") == 0 {
				t.Error("no retry succeeded")
			}
		})
	}
}

// An engine's error is the client's to see: the prompt may be the reason.
func TestErrorsPassToTheClient(t *testing.T) {
	e := start(t, options{workers: 1})
	for _, one := range e.engines {
		e.fault(one.Address(), engine.Fault{Kind: engine.Status, Status: http.StatusInternalServerError})
	}
	if a := e.post(chatPath, newTalk(1).body(t)); a.status != http.StatusInternalServerError {
		t.Errorf("status %d, want the engine's 500", a.status)
	}
	if got := len(e.received()); got != 1 {
		t.Errorf("the request was tried %d times, want once", got)
	}
}

func TestAllEnginesDown(t *testing.T) {
	e := start(t, options{workers: 1})
	for _, one := range e.engines {
		e.fault(one.Address(), engine.Fault{Kind: engine.Refuse})
	}
	if a := e.post(chatPath, newTalk(1).body(t)); a.status != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", a.status)
	}
	for _, one := range e.engines {
		e.fault(one.Address(), engine.Fault{})
	}
	e.await("requests are served again", func() bool { return e.post(chatPath, newTalk(1).body(t)).status == http.StatusOK })
}

// A client that goes away while its engine is silent leaves nothing behind.
func TestClientThatLeaves(t *testing.T) {
	e := start(t, options{workers: 1})
	for _, one := range e.engines {
		e.fault(one.Address(), engine.Fault{Kind: engine.Hang})
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		req := e.request(http.MethodPost, chatPath, strings.NewReader(newTalk(1).body(t))).WithContext(ctx)
		if resp, err := e.client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	e.awaitStat("kvsteer_flights_started", 1)
	leave()
	<-ended
	e.awaitStat("kvsteer_flights_ended", 1)
}

// A VM that traps takes its own request with it; the ones after are steered by
// a VM that Envoy starts anew.
func TestTrappedVMIsReloaded(t *testing.T) {
	e := start(t, options{workers: 1, module: trapOnTrailers(t)})
	body := newTalk(1).body(t)
	e.steered(chatPath, body)
	e.sendWithTrailers(body)
	e.await("requests are steered again", func() bool {
		a := e.post(chatPath, body)
		return a.status == http.StatusOK && a.decision.steered && a.engine == a.decision.endpoint
	})
	if got := e.stat("wasm.kvsteer.vm_reload_success"); got != 1 {
		t.Errorf("wasm.kvsteer.vm_reload_success = %d, want 1", got)
	}
}

// sendWithTrailers ends a body with trailers, which only HTTP/2 shows to
// Envoy's filters unasked. The answer doesn't matter.
func (e *env) sendWithTrailers(body string) {
	e.t.Helper()
	client := http2Client()
	defer client.CloseIdleConnections()
	req := e.chunked(strings.NewReader(body))
	req.Trailer = http.Header{"X-Checksum": {"1"}}
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
}

// Trailers end a body as well.
func TestTrailersAreNoObstacle(t *testing.T) {
	e := start(t, options{workers: 1})
	body := newTalk(1).body(t)
	e.sendWithTrailers(body)
	e.checkBody(e.only().Body, []byte(body))
	e.awaitStat("kvsteer_placements_learned", 1)
}
