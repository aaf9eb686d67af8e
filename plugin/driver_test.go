// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"testing"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// driver calls the entry points as Envoy does, of the contexts natively or of
// the built module under wazero, over one fakeHost.
type driver struct {
	t    *testing.T
	host *fakeHost
	vm   guest
	next uint32

	again func() *driver // another VM beside it, of driveWorkers
}

// guest is the code under test behind its entry points.
type guest interface {
	start(id uint32) bool     // vm start, root context id, configure
	configure(id uint32) bool // another root context beside it
	create(id, root uint32)
	requestHeaders(id uint32, n int, end bool) types.Action
	requestBody(id uint32, size int, end bool) types.Action
	requestTrailers(id uint32) types.Action
	responseHeaders(id uint32, n int, end bool) types.Action
	responseBody(id uint32, size int, end bool) types.Action
	finish(id uint32) // done, log, delete
	tick(root uint32)
	done(root uint32) // done and delete of a root context
	queueReady(root, queue uint32)
	callResponse(root, token uint32, n, size int)
}

const root = 1

// drive runs a test twice: over the contexts and over the built module.
func drive(t *testing.T, config string, f func(t *testing.T, d *driver)) {
	t.Run("contexts", func(t *testing.T) {
		h := newFakeHost(config)
		f(t, start(t, h, newNative(h)))
	})
	t.Run("module", func(t *testing.T) {
		h := newFakeHost(config)
		f(t, start(t, h, newModule(t, h)))
	})
}

// driveWorkers is drive with several VMs of one Envoy: each has a host of its
// own, and all have the same shared data and clock.
func driveWorkers(t *testing.T, config string, n int, f func(t *testing.T, w workers)) {
	t.Run("contexts", func(t *testing.T) {
		w := workers{}
		for range n {
			w.join(t, config, func(h *fakeHost) guest { return newNative(h) })
		}
		f(t, w)
	})
	t.Run("module", func(t *testing.T) {
		w := workers{}
		for range n {
			w.join(t, config, func(h *fakeHost) guest { return newModule(t, h) })
		}
		f(t, w)
	})
}

// workers are the VMs of one Envoy.
type workers []*driver

func (w *workers) join(t *testing.T, config string, guest func(h *fakeHost) guest) *driver {
	t.Helper()
	h := newFakeHost(config)
	if len(*w) > 0 {
		h.shared, h.queues, h.clock = (*w)[0].host.shared, (*w)[0].host.queues, (*w)[0].host.clock
	}
	d := start(t, h, guest(h))
	d.again = func() *driver { return w.join(t, config, guest) }
	*w = append(*w, d)
	return d
}

// tick lets time pass for all and ticks each.
func (w workers) tick(after time.Duration) {
	now := w[0].host.clock + after
	for _, d := range w {
		d.tick(now - d.host.clock)
	}
}

// metric is the sum of a counter over all VMs.
func (w workers) metric(name string) (sum int64) {
	for _, d := range w {
		sum += d.host.metric(name)
	}
	return sum
}

func start(t *testing.T, h *fakeHost, g guest) *driver {
	t.Helper()
	d := &driver{t: t, host: h, vm: g, next: root}
	h.context = root
	if !g.start(root) {
		t.Fatalf("the configuration was refused: %q", h.logs)
	}
	h.crossings()
	return d
}

// stream opens a stream with these request headers.
func (d *driver) stream(lines [][2]string, end bool) (id uint32, action types.Action) {
	return d.streamOf(root, lines, end)
}

// streamOf is stream with another root context than the first.
func (d *driver) streamOf(root uint32, lines [][2]string, end bool) (id uint32, action types.Action) {
	d.next++
	id = 100 + d.next
	d.vm.create(id, root)
	d.host.context = id
	d.host.stream().request = lines
	return id, d.vm.requestHeaders(id, len(lines), end)
}

// body sends one chunk of a request body.
func (d *driver) body(id uint32, chunk string, end bool) types.Action {
	d.host.context = id
	d.host.stream().chunk = []byte(chunk)
	return d.vm.requestBody(id, len(chunk), end)
}

// answer sends response headers from the endpoint and one body chunk.
func (d *driver) answer(id uint32, from, chunk string) {
	d.host.context = id
	s := d.host.stream()
	if from != "" {
		s.attributes["upstream\x00address"] = from
	}
	s.response = [][2]string{{":status", "200"}, {"content-type", "application/json"}}
	d.vm.responseHeaders(id, len(s.response), false)
	s.chunk = []byte(chunk)
	d.vm.responseBody(id, len(chunk), true)
}

// served is an answer as a test has it.
type served struct {
	from    string // upstream.address; "" = none
	status  string // "" = 200
	details string // response.code_details; "" = none
	lines   [][2]string
	chunks  []string
	open    bool // the last chunk doesn't end it
}

// respond sends an answer.
func (d *driver) respond(id uint32, a served) {
	d.host.context = id
	s := d.host.stream()
	if a.from != "" {
		s.attributes["upstream\x00address"] = a.from
	}
	if a.details != "" {
		s.attributes["response\x00code_details"] = a.details
	}
	s.response = append([][2]string{{":status", cmp.Or(a.status, "200")}}, a.lines...)
	d.vm.responseHeaders(id, len(s.response), len(a.chunks) == 0 && !a.open)
	for i, c := range a.chunks {
		s.chunk = []byte(c)
		d.vm.responseBody(id, len(c), i == len(a.chunks)-1 && !a.open)
	}
}

// send sends a whole request and returns its stream and where it went.
func (d *driver) send(body string) (id uint32, to string) {
	d.t.Helper()
	id, _ = d.stream(chatHeaders(len(body)), false)
	d.body(id, body, true)
	return id, first(d.destination(id))
}

// finish ends a stream.
func (d *driver) finish(id uint32) {
	d.host.context = id
	d.vm.finish(id)
	delete(d.host.streams, id)
}

// tick lets time pass and ticks the root context.
func (d *driver) tick(after time.Duration) {
	d.host.clock += after
	d.host.context = root
	d.vm.tick(root)
}

// destination returns the value of the destination header of a stream.
func (d *driver) destination(id uint32) string { return d.header(id, destinationHeader) }

func (d *driver) header(id uint32, name string) string {
	for _, l := range d.host.streams[id].request {
		if l[0] == name {
			return l[1]
		}
	}
	return ""
}

// chat sends a whole chat body as one request and returns where it went.
func (d *driver) chat(body string) string {
	d.t.Helper()
	id, action := d.stream(chatHeaders(len(body)), false)
	if action != requestPaused {
		d.t.Fatalf("headers of a chat: action %d, want %d", action, requestPaused)
	}
	if action = d.body(id, body, true); action != types.ActionContinue {
		d.t.Fatalf("end of a chat: action %d, want %d", action, types.ActionContinue)
	}
	to := d.destination(id)
	d.host.clock += 100 * time.Millisecond
	d.answer(id, first(to), `{"usage":{}}`)
	d.tick(time.Second)
	d.finish(id)
	return to
}

func first(list string) string {
	for i := range list {
		if list[i] == ',' {
			return list[:i]
		}
	}
	return list
}

// native is the contexts behind the guest interface.
type native struct {
	vm      *vm
	roots   map[uint32]types.PluginContext
	streams map[uint32]types.HttpContext
}

func newNative(h host) *native {
	return &native{newVM(h), map[uint32]types.PluginContext{}, map[uint32]types.HttpContext{}}
}

func (n *native) start(id uint32) bool {
	n.vm.OnVMStart(0)
	return n.configure(id)
}

func (n *native) configure(id uint32) bool {
	n.roots[id] = n.vm.NewPluginContext(id)
	return bool(n.roots[id].OnPluginStart(0))
}

func (n *native) create(id, root uint32) { n.streams[id] = n.roots[root].NewHttpContext(id) }

func (n *native) requestHeaders(id uint32, k int, end bool) types.Action {
	return n.streams[id].OnHttpRequestHeaders(k, end)
}

func (n *native) requestBody(id uint32, size int, end bool) types.Action {
	return n.streams[id].OnHttpRequestBody(size, end)
}

func (n *native) requestTrailers(id uint32) types.Action {
	return n.streams[id].OnHttpRequestTrailers(0)
}

func (n *native) responseHeaders(id uint32, k int, end bool) types.Action {
	return n.streams[id].OnHttpResponseHeaders(k, end)
}

func (n *native) responseBody(id uint32, size int, end bool) types.Action {
	return n.streams[id].OnHttpResponseBody(size, end)
}

func (n *native) finish(id uint32) {
	n.streams[id].OnHttpStreamDone()
	n.streams[id].(*stream).release()
	delete(n.streams, id)
}

func (n *native) done(root uint32) {
	n.roots[root].OnPluginDone()
	delete(n.roots, root)
}

func (n *native) tick(root uint32) { n.roots[root].OnTick() }

func (n *native) queueReady(root, queue uint32) { n.roots[root].OnQueueReady(queue) }

func (n *native) callResponse(root, token uint32, k, size int) {
	n.roots[root].(caller).OnHttpCallResponse(token, k, size)
}
