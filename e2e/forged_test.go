// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// A client's destination has no effect, whether the plugin chooses or not.
func TestForgedDestination(t *testing.T) {
	e := start(t, options{workers: 1})
	body := newTalk(1).body(t)
	home := e.steered(chatPath, body).engine
	var other string
	for _, one := range e.engines {
		if one.Address() != home {
			other = one.Address()
		}
	}
	forge := func(req *http.Request) *http.Request {
		for range 3 {
			req.Header.Add("X-Gateway-Destination-Endpoint", other)
		}
		req.Header.Set("X-Kvsteer-Decision", "mine")
		return req
	}
	e.received()
	for range 10 {
		a := e.send(forge(e.request(http.MethodPost, chatPath, strings.NewReader(body))))
		if a.engine != home || a.decision.endpoint != home {
			t.Errorf("a chat with a forged destination went to %s (decision %+v), its home is %s", a.engine, a.decision, home)
		}
	}
	const bypassed = 40
	forged := 0
	for n := range bypassed {
		req := e.request(http.MethodGet, "/v1/models", nil)
		if n%2 == 0 {
			req = e.request(http.MethodPost, chatPath, strings.NewReader("no JSON"))
		}
		if e.send(forge(req)).engine == other {
			forged++
		}
	}
	if forged == bypassed {
		t.Errorf("all %d requests that the plugin leaves to Envoy went where their client said", forged)
	}
	for _, r := range e.received() {
		if got := r.Header.Values("X-Gateway-Destination-Endpoint"); len(got) > 0 {
			t.Errorf("an engine got the destination %v", got)
		}
	}
}
