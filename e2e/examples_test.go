// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// launchExample starts a published example, changed by edits and as
// envoy.Published does it: free ports for listener and admin port, the built
// module. Answers tell the decision. There is one worker, so what is known when
// one request is steered is known to the next.
func (e *env) launchExample(file string, edits ...string) {
	e.t.Helper()
	root := projectRoot(e.t)
	text, err := os.ReadFile(filepath.Join(root, "envoy", file))
	if err != nil {
		e.t.Fatal(err)
	}
	config, err := envoy.ReplaceAll(string(text), append(edits,
		"port_value: 9901", "port_value: "+freePort(e.t),
		"port_value: 10000", "port_value: 0",
		strings.TrimPrefix(envoy.Module(root), root+"/"), envoy.Module(root),
		`"pools": [`, `"decision_header": true, "pools": [`)...)
	if err != nil {
		e.t.Fatal(err)
	}
	e.launch(root, config, 1)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return port(l.Addr().String())
}

// A way is where requests go in and which engines shall get them.
type way struct {
	path, model string // model: header x-model, none if empty
	engines     []*engine.Engine
}

// sendBy sends a talk on its way and checks that an engine answers that is one of
// those, and the one that was named.
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
// host, untouched.
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

// dnsServer answers whatever name with the same IPv4 addresses, over UDP.
type dnsServer struct {
	socket net.PacketConn

	mu      sync.Mutex
	records []byte
	count   uint16
	names   []string // asked for
}

func startDNS(t *testing.T) *dnsServer {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dnsServer{socket: socket}
	ended := make(chan struct{})
	t.Cleanup(func() {
		socket.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		d.serve()
	}()
	return d
}

// resolver is the part of an Envoy configuration that sends questions here.
func (d *dnsServer) resolver() string {
	return `typed_dns_resolver_config:
  name: envoy.network.dns_resolver.cares
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig
    resolvers: [{socket_address: {address: 127.0.0.1, port_value: ` + port(d.socket.LocalAddr().String()) + `}}]
`
}

// answer makes these the addresses. Their time to live is long, for it does not
// count.
func (d *dnsServer) answer(engines []*engine.Engine) {
	var records []byte
	for _, one := range engines {
		host, _, _ := strings.Cut(one.Address(), ":")
		records = append(records, 0xc0, 12)                 // the name in the question
		records = binary.BigEndian.AppendUint16(records, 1) // A
		records = binary.BigEndian.AppendUint16(records, 1) // IN
		records = binary.BigEndian.AppendUint32(records, 3600)
		records = binary.BigEndian.AppendUint16(records, net.IPv4len)
		records = append(records, net.ParseIP(host).To4()...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records, d.count = records, uint16(len(engines))
}

func (d *dnsServer) serve() {
	question := make([]byte, 1500)
	for {
		n, from, err := d.socket.ReadFrom(question)
		if err != nil {
			return // closed
		}
		if reply := d.reply(question[:n]); reply != nil {
			d.socket.WriteTo(reply, from) // one that is lost is asked for again
		}
	}
}

// reply answers the first question of a message (RFC 1035 §4), nil if it is cut.
func (d *dnsServer) reply(message []byte) []byte {
	const header = 12
	name, at := "", header
	for at < len(message) && message[at] != 0 {
		next := at + 1 + int(message[at])
		if next > len(message) {
			return nil
		}
		name += string(message[at+1:next]) + "."
		at = next
	}
	end := at + 5 // the root label, type and class
	if end > len(message) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, name)
	reply := append([]byte(nil), message[:2]...)          // id
	reply = append(reply, 0x81, 0x80, 0, 1)               // a response, recursive; one question
	reply = binary.BigEndian.AppendUint16(reply, d.count) // answers
	reply = append(reply, 0, 0, 0, 0)
	reply = append(reply, message[header:end]...)
	return append(reply, d.records...)
}

// askedOnly checks that this name was asked for, and no other.
func (d *dnsServer) askedOnly(t *testing.T, want string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.names)
	if got := slices.Compact(d.names); !slices.Equal(got, []string{want}) {
		t.Errorf("names asked for: %q, want only %q", got, want)
	}
}

// What docs/metrics.md tells operators to watch is there, under this name.
func TestWatchedMetricsExist(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "metrics.md"), "\n## What to watch\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := regexp.MustCompile("`(?:kvsteer_|wasm\\.)[a-z_.]+`").FindAllString(section, -1)
	if len(names) < 20 {
		t.Fatalf("the section has %d names, want more", len(names))
	}
	e := start(t, options{})
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Errorf("Envoy has no %v", missing)
		}
	}()
	e.await("all are there", func() bool {
		missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return e.has(strings.Trim(name, "`")) })
		return len(missing) == 0
	})
}

// has reports whether Envoy has a stat, or one of this name for each engine.
func (e *env) has(name string) bool {
	e.t.Helper()
	stats, err := e.envoy.Admin.Stats(e.t.Context(), "^(wasmcustom\\.)?"+regexp.QuoteMeta(name)+"(\\.engines\\..*)?$")
	if err != nil {
		e.t.Fatal(err)
	}
	return len(stats) == 1 || len(stats) == len(e.engines)
}

// page returns a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(projectRoot(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The documented stats_tags turn what Envoy has in names into labels.
func TestDocumentedTagsBecomeLabels(t *testing.T) {
	tags := regexp.MustCompile(`(?m)^  - \{tag_name: .*\}$`)
	var lines []string
	for _, name := range []string{"metrics.md", "routing-operators.md"} {
		lines = append(lines, tags.FindAllString(page(t, name), -1)...)
	}
	e := start(t, options{
		settings: `"routing": {}, `, workers: 1,
		edits: []string{"stats_config:", "stats_config:\n  stats_tags:\n" + strings.Join(lines, "\n")},
	})
	e.steered(chatPath, newTalk(1).body(t))
	e.post("/v1/unknown", "{}")
	series := []string{`kvsteer_bypass{reason="path"} 1`, `kvsteer_no_prompt{reason="not_json"} 0`,
		`kvsteer_routing_requests_total{method="prefix-aware",outcome="selected"} 1`}
	for _, one := range e.engines {
		label := strings.ReplaceAll(one.Address(), ":", "_")
		series = append(series, fmt.Sprintf(`kvsteer_endpoint_healthy{pool="engines",endpoint=%q} 1`, label))
	}
	for _, want := range series {
		e.await(want, func() bool {
			text, err := e.envoy.Admin.Get(t.Context(), "/stats/prometheus")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(text), "\n"+want+"\n")
		})
	}
}
