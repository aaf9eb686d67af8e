// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"time"
)

// fakeHost is Envoy in a test: it keeps what a real one would, and counts the
// calls. Streams and shared data are plain maps.
type fakeHost struct {
	calls      map[string]int // host calls by name since the last reset
	clock      time.Duration
	config     string
	context    uint32
	streams    map[uint32]*fakeStream
	attributes map[string]string // attributes of every stream
	logs       []string
	debug      bool // debug lines are shown
	shared     map[string]sharedValue
	queues     *[]fakeQueue
	metrics    []fakeMetric
	period     time.Duration
	callouts   []fakeCallout
	missing    string      // a cluster that Envoy doesn't have
	answered   int         // callouts that a test has dealt with
	page       *fakeStream // the answer whose callback runs
}

type fakeStream struct {
	request, response [][2]string
	chunk             []byte // the body chunk whose callback runs
	attributes        map[string]string
	continued         int
	replied           int
	replyHeaders      [][2]string
	replyBody         []byte
}

type sharedValue struct {
	value []byte
	cas   uint32
}

type fakeQueue struct {
	name     string
	consumer *fakeHost // of the VM that registered it last
	messages [][]byte
}

type fakeMetric struct {
	name  string
	kind  metricKind
	value int64
}

type fakeCallout struct {
	cluster string
	headers [][2]string
}

func newFakeHost(config string) *fakeHost {
	return &fakeHost{
		calls: map[string]int{}, config: config, clock: time.Hour,
		streams: map[uint32]*fakeStream{}, attributes: map[string]string{}, shared: map[string]sharedValue{},
		queues: &[]fakeQueue{},
	}
}

func (h *fakeHost) count(name string) { h.calls[name]++ }

// crossings returns the host calls since the last call, all names together.
func (h *fakeHost) crossings() int {
	n := 0
	for _, c := range h.calls {
		n += c
	}
	clear(h.calls)
	return n
}

func (h *fakeHost) stream() *fakeStream {
	s := h.streams[h.context]
	if s == nil {
		s = &fakeStream{attributes: map[string]string{}}
		h.streams[h.context] = s
	}
	return s
}

func (h *fakeHost) lines(m mapType) *[][2]string {
	switch m {
	case responseHeaders:
		return &h.stream().response
	case callHeaders:
		if h.page == nil {
			h.page = &fakeStream{}
		}
		return &h.page.response
	}
	return &h.stream().request
}

func (h *fakeHost) setContext(id uint32) { h.count("setContext"); h.context = id }

func (h *fakeHost) headers(m mapType) headerMap {
	h.count("headers")
	return headerMapOf(*h.lines(m))
}

func (h *fakeHost) setHeader(m mapType, name string, value []byte) {
	h.count("setHeader")
	lines := h.lines(m)
	*lines = append(without(*lines, name), [2]string{name, string(value)})
}

func (h *fakeHost) removeHeader(m mapType, name string) {
	h.count("removeHeader")
	lines := h.lines(m)
	*lines = without(*lines, name)
}

func without(lines [][2]string, name string) [][2]string {
	return slices.DeleteFunc(slices.Clone(lines), func(l [2]string) bool { return l[0] == name })
}

func (h *fakeHost) body(b bufferType, start, size int) []byte {
	h.count("body")
	whole := h.stream().chunk
	switch b {
	case pluginConfig:
		whole = []byte(h.config)
	case callBody:
		whole = h.page.chunk
	}
	if start >= len(whole) {
		return nil
	}
	return bytes.Clone(whole[start:min(start+size, len(whole))])
}

func (h *fakeHost) property(path string) ([]byte, bool) {
	h.count("property")
	if v, ok := h.stream().attributes[path]; ok {
		return []byte(v), true
	}
	v, ok := h.attributes[path]
	return []byte(v), ok
}

func (h *fakeHost) continueRequest() { h.count("continueRequest"); h.stream().continued++ }

func (h *fakeHost) reply(status int, headers [][2]string, body []byte) {
	h.count("reply")
	s := h.stream()
	s.replied, s.replyHeaders, s.replyBody = status, headers, bytes.Clone(body)
}

func (h *fakeHost) tickPeriod(p time.Duration) { h.count("tickPeriod"); h.period = p }
func (h *fakeHost) now() time.Duration         { h.count("now"); return h.clock }

func (h *fakeHost) debugging() bool { h.count("debugging"); return h.debug }

func (h *fakeHost) log(_ logLevel, line string) { h.count("log"); h.logs = append(h.logs, line) }

func (h *fakeHost) sharedData(key string) ([]byte, uint32, bool) {
	h.count("sharedData")
	v, ok := h.shared[key]
	return v.value, v.cas, ok
}

func (h *fakeHost) setSharedData(key string, value []byte, cas uint32) bool {
	h.count("setSharedData")
	v := h.shared[key]
	if cas != 0 && cas != v.cas {
		return false
	}
	h.shared[key] = sharedValue{bytes.Clone(value), v.cas + 1}
	return true
}

func (h *fakeHost) registerQueue(name string) (uint32, bool) {
	h.count("registerQueue")
	if q, ok := h.find(name); ok {
		(*h.queues)[q-1].consumer = h
		return q, true
	}
	*h.queues = append(*h.queues, fakeQueue{name: name, consumer: h})
	return uint32(len(*h.queues)), true
}

func (h *fakeHost) find(name string) (uint32, bool) {
	i := slices.IndexFunc(*h.queues, func(q fakeQueue) bool { return q.name == name })
	return uint32(i + 1), i >= 0
}

func (h *fakeHost) resolveQueue(name string) (uint32, bool) {
	h.count("resolveQueue")
	return h.find(name)
}

func (h *fakeHost) enqueue(queue uint32, message []byte) bool {
	h.count("enqueue")
	if queue == 0 || int(queue) > len(*h.queues) {
		return false
	}
	q := &(*h.queues)[queue-1]
	q.messages = append(q.messages, bytes.Clone(message))
	return true
}

func (h *fakeHost) dequeue(queue uint32) ([]byte, bool) {
	h.count("dequeue")
	if queue == 0 || int(queue) > len(*h.queues) || len((*h.queues)[queue-1].messages) == 0 {
		return nil, false
	}
	q := &(*h.queues)[queue-1]
	m := q.messages[0]
	q.messages = q.messages[1:]
	return m, true
}

func (h *fakeHost) call(cluster string, headers [][2]string, _ time.Duration) (uint32, bool) {
	h.count("call")
	if cluster == h.missing {
		return 0, false
	}
	h.callouts = append(h.callouts, fakeCallout{cluster, headers})
	return uint32(len(h.callouts)), true
}

func (h *fakeHost) defineMetric(kind metricKind, name string) (uint32, bool) {
	h.count("defineMetric")
	if i := slices.IndexFunc(h.metrics, func(m fakeMetric) bool { return m.name == name }); i >= 0 {
		return uint32(i), true
	}
	h.metrics = append(h.metrics, fakeMetric{name: name, kind: kind})
	return uint32(len(h.metrics) - 1), true
}

func (h *fakeHost) addMetric(id uint32, delta int64) {
	h.count("addMetric")
	h.metrics[id].value += delta
}

func (h *fakeHost) recordMetric(id uint32, value uint64) {
	h.count("recordMetric")
	h.metrics[id].value = int64(value)
}

// metric returns a metric's value, 0 for one that was never defined.
func (h *fakeHost) metric(name string) int64 {
	for _, m := range h.metrics {
		if m.name == name {
			return m.value
		}
	}
	return 0
}
