// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// readFrom reads one response from a raw connection.
func (e *env) readFrom(conn net.Conn, req *http.Request) *answer {
	e.t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.read(resp)
}

func TestWhatIsNotHeld(t *testing.T) {
	e := start(t, options{workers: 1})
	t.Run("bypassed", func(t *testing.T) { bypassed(t, e.in(t)) })
	t.Run("gzip", func(t *testing.T) { encodedBody(t, e.in(t)) })
	t.Run("upgrade", func(t *testing.T) { upgrade(t, e.in(t)) })
	t.Run("CONNECT", func(t *testing.T) { connect(t, e.in(t)) })
	t.Run("gRPC", func(t *testing.T) { grpc(t, e.in(t)) })
	if got := e.stat("kvsteer_requests"); got != 0 {
		t.Errorf("kvsteer_requests = %d, want 0: nothing here is an inference request", got)
	}
}

// Requests that must not wait for a body are on their way before there is one.
func bypassed(t *testing.T, e *env) {
	for _, c := range []struct{ name, method, path, headers, counter string }{
		{"GET", "GET", "/v1/models", "", "kvsteer_bypass_method"},
		{"HEAD", "HEAD", chatPath, "", "kvsteer_bypass_method"},
		{"POST without a body", "POST", chatPath, "Content-Type: application/json\r\nContent-Length: 0\r\n", "kvsteer_bypass_no_body"},
		{"unknown path", "POST", "/v1/files", "Content-Type: application/json\r\nContent-Length: 2\r\n", "kvsteer_bypass_path"},
		{"gzip", "POST", chatPath, "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n", "kvsteer_bypass_content_encoding"},
		{"multipart", "POST", chatPath, "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n", "kvsteer_bypass_content_type"},
	} {
		before, sent := e.stat(c.counter), e.stat("cluster.engines.upstream_rq_total")
		conn := e.dial()
		fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: gateway\r\n%s\r\n", c.method, c.path, c.headers)
		e.awaitStat("cluster.engines.upstream_rq_total", sent+1)
		if strings.Contains(c.headers, "Length: 2") {
			io.WriteString(conn, "{}") // shows as no response
		}
		if a := e.readFrom(conn, &http.Request{Method: c.method}); a.engine == "" || a.decision.endpoint != "" {
			t.Errorf("%s: status %d from %q, decision %+v, want an engine that Envoy chose", c.name, a.status, a.engine, a.decision)
		}
		e.awaitStat(c.counter, before+1)
	}
	e.received()
}

// A gzip body reaches the engine as it was sent.
func encodedBody(t *testing.T, e *env) {
	var body strings.Builder
	zip := gzip.NewWriter(&body)
	io.WriteString(zip, newTalk(1).body(t)) // into memory
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	req := e.request(http.MethodPost, chatPath, strings.NewReader(body.String()))
	req.Header.Set("Content-Encoding", "gzip")
	e.received()
	e.send(req)
	got := e.only()
	e.checkBody(got.Body, []byte(body.String()))
	if got.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("the engine got the headers %v", got.Header)
	}
}

func upgrade(t *testing.T, e *env) {
	before := e.stat("kvsteer_bypass_upgrade") + e.stat("kvsteer_bypass_method")
	conn := e.dial()
	io.WriteString(conn, "GET /v1/realtime HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") // shows as no response
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", resp.StatusCode)
	}
	for _, word := range []string{"ping", "pong"} {
		io.WriteString(conn, word) // shows as no echo
		got := make([]byte, 4)
		if _, err := io.ReadFull(in, got); err != nil || string(got) != word {
			t.Fatalf("echo %q, %v, want %q", got, err, word)
		}
	}
	e.await("the upgrade is counted", func() bool {
		return e.stat("kvsteer_bypass_upgrade")+e.stat("kvsteer_bypass_method") == before+1
	})
}

// The published configuration offers no tunnels: CONNECT is refused at once.
func connect(t *testing.T, e *env) {
	conn := e.dial()
	io.WriteString(conn, "CONNECT engine:80 HTTP/1.1\r\nHost: engine:80\r\n\r\n") // shows as no response
	if a := e.readFrom(conn, &http.Request{Method: http.MethodConnect}); a.status < 400 || a.status > 499 {
		t.Errorf("status %d, want a refusal", a.status)
	}
}

func TestExpectContinueIsSteered(t *testing.T) {
	e := start(t, options{workers: 1})
	body := newTalk(1).body(t)
	conn := e.dial()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", chatPath, len(body))
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("%q, %v, want 100 Continue", line, err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("%q, %v after 100 Continue", line, err)
	}
	io.WriteString(conn, body) // shows as no response
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := e.read(resp); a.status != http.StatusOK || !a.decision.steered {
		t.Errorf("status %d, decision %+v", a.status, a.decision)
	}
	e.checkBody(e.only().Body, []byte(body))
}

// http2Client speaks HTTP/2 without TLS.
func http2Client() *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &protocols}}
}

// gRPC streams may wait for an answer before they send anything.
func grpc(t *testing.T, e *env) {
	sent := e.stat("cluster.engines.upstream_rq_total")
	client := http2Client()
	t.Cleanup(client.CloseIdleConnections)
	in, out := io.Pipe()
	req := e.request(http.MethodPost, chatPath, in)
	req.Header.Set("Content-Type", "application/grpc")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	e.awaitStat("kvsteer_bypass_grpc", 1)
	e.awaitStat("cluster.engines.upstream_rq_total", sent+1)
	out.Close()
	<-ended
}

// Clients that send headers and then nothing are let go; what they send later
// passes whole. They are not taken for a missing flag: bodies are read on.
func TestSlowFirstClients(t *testing.T) {
	e := start(t, options{workers: 1})
	body := newTalk(1).body(t)
	const slow, quick = 4, 5
	for n := range slow {
		conn := e.dial()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", chatPath, len(body))
		e.await("a silent client is released", func() bool {
			return e.stat("kvsteer_decided_wait_silent")+e.stat("kvsteer_decided_wait_time") == int64(n+1)
		})
		e.passTick()
		io.WriteString(conn, body[:100]) // shows as no response
		io.WriteString(conn, body[100:]) // shows as no response
		if a := e.readFrom(conn, nil); a.status != http.StatusOK || a.engine != a.decision.endpoint {
			t.Errorf("slow client %d: status %d from %q, decision %+v", n, a.status, a.engine, a.decision)
		}
		e.checkBody(e.only().Body, []byte(body))
	}
	for range quick {
		e.steered(chatPath, body)
	}
	e.await("the quick clients' bodies decide", func() bool {
		return e.stat("kvsteer_decided_whole_body")+e.stat("kvsteer_decided_early") == quick
	})
}

// A client that pauses in the middle of its body is let go with what is there.
func TestClientThatPausesInItsBody(t *testing.T) {
	e := start(t, options{workers: 1})
	body := newTalk(1).body(t)
	conn := e.dial()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", chatPath, len(body), body[:700])
	e.await("it is released", func() bool {
		return e.stat("kvsteer_decided_wait_silent")+e.stat("kvsteer_decided_wait_time") == 1
	})
	io.WriteString(conn, body[700:]) // shows as no response
	if a := e.readFrom(conn, nil); a.status != http.StatusOK || a.engine != a.decision.endpoint {
		t.Errorf("status %d from %q, decision %+v", a.status, a.engine, a.decision)
	}
	e.checkBody(e.only().Body, []byte(body))
	e.awaitStat("kvsteer_placements_learned", 1)
}

// Where Envoy doesn't show bodies to a filter that waits, the plugin finds out
// and goes by the headers; no request is lost meanwhile.
func TestMissingFlagIsFound(t *testing.T) {
	e := start(t, options{workers: 1, edits: []string{
		"allow_on_headers_stop_iteration: true", "allow_on_headers_stop_iteration: false",
	}})
	body := newTalk(1).body(t)
	e.await("requests go by their headers", func() bool {
		a := e.steered(chatPath, body)
		e.checkBody(e.only().Body, []byte(body))
		return a.status == http.StatusOK && e.stat("kvsteer_decided_headers_only") > 0
	})
	if got := e.stat("kvsteer_decided_whole_body"); got != 0 {
		t.Errorf("kvsteer_decided_whole_body = %d without the flag", got)
	}
}
