// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// longAnswer begins a streamed answer that takes minutes and returns it with
// the address of its engine once the first bytes are here.
func (e *env) longAnswer(number int) (*http.Response, string) {
	e.t.Helper()
	for _, one := range e.engines {
		e.fault(one.Address(), engine.Fault{Kind: engine.Slow, Factor: 1e6}) // 1 ms a token
	}
	c := newTalk(number)
	c.Tokens = 300_000
	body := strings.Replace(c.body(e.t), "{", `{"stream":true,`, 1)
	resp, err := e.client.Do(e.request(http.MethodPost, chatPath, strings.NewReader(body)))
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { resp.Body.Close() })
	if _, err := resp.Body.Read(make([]byte, 1)); err != nil {
		e.t.Fatal(err)
	}
	return resp, resp.Header.Get("x-engine")
}

// An answer that breaks off counts against the engine, but not where it was the
// client who left.
func TestWhoCutsAnAnswerOff(t *testing.T) {
	t.Run("engine", func(t *testing.T) {
		e := start(t, options{workers: 1})
		_, at := e.longAnswer(1)
		if err := e.engine(at).Restart(); err != nil {
			t.Fatal(err)
		}
		e.awaitStat("kvsteer_flights_ended", 1)
		e.awaitStat("kvsteer_endpoint_failures", 1)
		if n := e.stat("kvsteer_placements_withdrawn"); n != 0 {
			t.Errorf("%d placements withdrawn, but the prompt had been computed", n)
		}
	})
	t.Run("client", func(t *testing.T) {
		e := start(t, options{workers: 1})
		resp, _ := e.longAnswer(1)
		resp.Body.Close()
		e.client.CloseIdleConnections()
		e.awaitStat("kvsteer_flights_ended", 1)
		if n := e.stat("kvsteer_endpoint_failures") + e.stat("kvsteer_placements_withdrawn"); n != 0 {
			t.Errorf("%d failures and withdrawn placements after the client left", n)
		}
	})
}

// A VM that starts anew is told by the other what it had known.
func TestReloadedVMIsToldWhatItKnew(t *testing.T) {
	e := start(t, options{workers: 2, module: trapOnTrailers(t)})
	e.scatter()
	var talks []*talk
	for i := range 12 {
		c := newTalk(i)
		c.reply(t, e.steered(chatPath, c.body(t)))
		talks = append(talks, c)
	}
	e.settle()
	read := e.stat("kvsteer_handovers_read")
	e.sendWithTrailers(talks[0].body(t))
	e.await("the new VM has read a hand-over", func() bool {
		e.post(chatPath, talks[0].body(t))
		return e.stat("kvsteer_handovers_read") > read
	})
	e.settle()
	for i, c := range talks {
		a := e.post(chatPath, c.body(t))
		if a.decision.match < 1500 {
			t.Errorf("conversation %d matches %d of %d bytes after the reload", i, a.decision.match, a.decision.prompt)
		}
	}
}
