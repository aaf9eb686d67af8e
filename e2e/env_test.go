// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// options say how a test's set-up differs from the published configuration.
type options struct {
	settings string   // further fields of the plugin's configuration: `"mode": "observe",`
	edits    []string // pairs for envoy.ReplaceAll
	module   string   // another module than the built one
	workers  int      // default 2
}

// An env is the built module in a real Envoy, in front of four engines that are
// too fast to wait for.
type env struct {
	t       *testing.T
	engines []*engine.Engine
	envoy   *envoy.Instance
	client  *http.Client
}

// patience bounds every poll. It is long because it is only used up by a
// failure.
const patience = 30 * time.Second

// start brings everything up and lets the test's end bring it down. Envoy's log
// is shown where the test fails.
func start(t *testing.T, o options) *env {
	t.Helper()
	skipWithoutEnvoy(t)
	e := &env{t: t}
	e.startEngines(4)
	e.startEnvoy(o)
	return e
}

func skipWithoutEnvoy(t *testing.T) {
	t.Helper()
	if os.Getenv("KVSTEER_SKIP_ENVOY") == "1" {
		t.Skip("KVSTEER_SKIP_ENVOY=1")
	}
}

// startEnvoy starts an Envoy in front of the engines; e speaks to it from then
// on.
func (e *env) startEnvoy(o options) {
	e.t.Helper()
	root := projectRoot(e.t)
	e.launch(root, e.configuration(root, o), o.workers)
	e.awaitStat("kvsteer_endpoints", int64(len(e.engines))) // the collector has told
}

// projectRoot returns the root of a project whose plugin is built.
func projectRoot(t *testing.T) string {
	t.Helper()
	root, err := envoy.Root()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(envoy.Module(root)); err != nil {
		t.Fatalf("the plugin is not built (make wasm): %v", err)
	}
	return root
}

// launch starts an Envoy with a configuration and lets the test's end stop it.
func (e *env) launch(root, config string, workers int) {
	t := e.t
	t.Helper()
	binary, err := envoy.Find(t.Context(), filepath.Join(root, "build/out"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := envoy.Start(t.Context(), binary, config, envoy.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	e.envoy, e.client = instance, client
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("Envoy's log:\n%s", instance.Log())
		}
		instance.Stop()
	})
}

// in returns the same set-up for a subtest.
func (e *env) in(t *testing.T) *env {
	sub := *e
	sub.t = t
	return &sub
}

func (e *env) startEngines(n int) {
	e.t.Helper()
	for range n {
		one, err := engine.Start(engine.Config{PrefillRate: 1e9, DecodeRate: 1e9, DefaultTokens: 4, Keep: 2000})
		if err != nil {
			e.t.Fatal(err)
		}
		e.t.Cleanup(one.Close)
		e.engines = append(e.engines, one)
	}
}

// configuration is the published one with the test's differences. Answers tell
// the decision, so that tests can compare it with what happened.
func (e *env) configuration(root string, o options) string {
	e.t.Helper()
	var addresses []string
	for _, one := range e.engines {
		addresses = append(addresses, one.Address())
	}
	config, err := envoy.Published(root, addresses)
	if err != nil {
		e.t.Fatal(err)
	}
	edits := append([]string{`"pools": [`, o.settings + `"decision_header": true, "pools": [`}, o.edits...)
	if o.module != "" {
		edits = append(edits, envoy.Module(root), o.module)
	}
	if config, err = envoy.ReplaceAll(config, edits...); err != nil {
		e.t.Fatal(err)
	}
	return config
}

// An answer is what a client got.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	engine   string // who answered, by address
	decision decision
}

// A decision is what the plugin says of its choice.
type decision struct {
	endpoint      string // "" where it did not choose
	match, prompt int    // canonical bytes
	steered       bool
}

var decisionPattern = regexp.MustCompile(`;endpoint="([^"]*)";match=(\d+);prompt=(\d+)`)

func readDecision(header string) (d decision) {
	if parts := decisionPattern.FindStringSubmatch(header); parts != nil {
		d.endpoint = parts[1]
		d.match, _ = strconv.Atoi(parts[2])
		d.prompt, _ = strconv.Atoi(parts[3])
	}
	d.steered = strings.Contains(header, ";steered")
	return d
}

// post sends a JSON body to a path of the gateway.
func (e *env) post(path, body string) *answer {
	e.t.Helper()
	return e.send(e.request(http.MethodPost, path, strings.NewReader(body)))
}

// request makes a request with a JSON body for tests to change before they
// send it.
func (e *env) request(method, path string, body io.Reader) *http.Request {
	e.t.Helper()
	req, err := http.NewRequestWithContext(e.t.Context(), method, "http://"+e.envoy.Address+path, body)
	if err != nil {
		e.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (e *env) send(req *http.Request) *answer {
	e.t.Helper()
	resp, err := e.client.Do(req)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.read(resp)
}

func (e *env) read(resp *http.Response) *answer {
	e.t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return &answer{
		status: resp.StatusCode, header: resp.Header, body: body,
		engine: resp.Header.Get("x-engine"), decision: readDecision(resp.Header.Get("x-kvsteer-decision")),
	}
}

// steered sends a body and checks that the engine that answered is the one
// that the plugin named.
func (e *env) steered(path, body string) *answer {
	e.t.Helper()
	a := e.post(path, body)
	if a.status != http.StatusOK || a.engine == "" || a.engine != a.decision.endpoint || !a.decision.steered {
		e.t.Fatalf("status %d from %q, decision %q: want 200 from the engine that was named\n%.200s",
			a.status, a.engine, a.header.Get("x-kvsteer-decision"), a.body)
	}
	return a
}

// dial opens a connection to the gateway for what net/http doesn't send.
func (e *env) dial() net.Conn {
	e.t.Helper()
	conn, err := net.Dial("tcp", e.envoy.Address)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		e.t.Fatal(err)
	}
	return conn
}

// engine returns the engine at an address.
func (e *env) engine(address string) *engine.Engine {
	e.t.Helper()
	for _, one := range e.engines {
		if one.Address() == address {
			return one
		}
	}
	e.t.Fatalf("no engine at %q", address)
	return nil
}

// fault makes one engine misbehave.
func (e *env) fault(address string, f engine.Fault) {
	e.t.Helper()
	if err := e.engine(address).SetFault(f); err != nil {
		e.t.Fatal(err)
	}
}

// received returns what all engines got, and forgets it.
func (e *env) received() []engine.Received {
	var all []engine.Received
	for _, one := range e.engines {
		all = append(all, one.Received()...)
		one.Forget()
	}
	return all
}

// only returns the one request that the engines got.
func (e *env) only() engine.Received {
	e.t.Helper()
	all := e.received()
	if len(all) != 1 {
		e.t.Fatalf("the engines got %d requests, want 1", len(all))
	}
	return all[0]
}

// checkBody compares a body that an engine got with the one that was sent.
func (e *env) checkBody(got, want []byte) {
	e.t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	e.t.Errorf("the engine got %d bytes, %d were sent; they differ at byte %d", len(got), len(want), at)
}

// stat reads one of Envoy's counters or gauges; the plugin's are kvsteer_….
func (e *env) stat(name string) int64 {
	e.t.Helper()
	stats, err := e.envoy.Admin.Stats(e.t.Context(), "^(wasmcustom\\.)?"+regexp.QuoteMeta(name)+"$")
	if err != nil {
		e.t.Fatal(err)
	}
	return stats[name] + stats["wasmcustom."+name]
}

// await polls until a condition holds. The plugin's counters reach Envoy with
// its next tick.
func (e *env) await(what string, holds func() bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			e.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// passTick waits until each worker has had a tick of the plugin. What a worker
// counts shows with its next tick; which worker gets a connection is up to the
// kernel, and Envoy tells how many each has had.
func (e *env) passTick() {
	e.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	counted, before := e.stat("kvsteer_bypass_method"), e.connections()
	e.await("every worker gets a connection", func() bool {
		resp, err := client.Do(e.request(http.MethodGet, "/health", nil))
		if err != nil {
			e.t.Fatal(err)
		}
		e.read(resp)
		counted++
		for worker, n := range e.connections() {
			if n == before[worker] {
				return false
			}
		}
		return true
	})
	e.awaitStat("kvsteer_bypass_method", counted)
}

// connections returns how many connections each worker has accepted.
func (e *env) connections() map[string]int64 {
	e.t.Helper()
	stats, err := e.envoy.Admin.Stats(e.t.Context(), `^listener\.127.*\.worker_\d+\.downstream_cx_total$`)
	if err != nil {
		e.t.Fatal(err)
	}
	if len(stats) == 0 {
		e.t.Fatal("Envoy counts no connections by worker")
	}
	return stats
}

// awaitStat polls until a counter has a value.
func (e *env) awaitStat(name string, want int64) {
	e.t.Helper()
	e.await(fmt.Sprintf("%s = %d", name, want), func() bool { return e.stat(name) == want })
}
