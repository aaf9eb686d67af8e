// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"
	"time"
)

// benchHost is a host that costs nothing: one request's headers and body, no
// bookkeeping.
type benchHost struct {
	*fakeHost
	request, response headerMap
	chunk             []byte
	clock             time.Duration
}

func (h *benchHost) headers(m mapType) headerMap {
	if m == responseHeaders {
		return h.response
	}
	return h.request
}

func (h *benchHost) body(_ bufferType, start, size int) []byte {
	return h.chunk[start:min(start+size, len(h.chunk))]
}

func (h *benchHost) setHeader(mapType, string, []byte)        {}
func (h *benchHost) property(string) ([]byte, bool)           { return []byte("10.0.0.1:80"), true }
func (h *benchHost) now() time.Duration                       { h.clock += time.Microsecond; return h.clock }
func (h *benchHost) addMetric(uint32, int64)                  {}
func (h *benchHost) recordMetric(uint32, uint64)              {}
func (h *benchHost) setContext(uint32)                        {}
func (h *benchHost) sharedData(string) ([]byte, uint32, bool) { return nil, 0, false }

// BenchmarkRequest is all that the plugin itself does for a chat: headers, body
// in one chunk, answer, end. Conversations come back turn after turn.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []struct {
		name  string
		turns int
	}{{"body=2KiB", 1}, {"body=16KiB", 10}, {"body=220KiB", 140}} {
		b.Run(size.name, func(b *testing.B) {
			f := newFakeHost(fourEndpoints)
			h := &benchHost{fakeHost: f}
			v := newVM(h)
			v.OnVMStart(0)
			f.context = root
			h.chunk = []byte(f.config)
			r := v.NewPluginContext(root)
			r.OnPluginStart(0)
			h.response = headerMapOf([][2]string{{":status", "200"}, {"content-type", "application/json"}})
			var bodies [64][]byte
			for i := range bodies {
				bodies[i] = []byte(chatBody(fmt.Sprint("user", i), size.turns))
			}
			answer := []byte(`{"choices":[],"usage":{"prompt_tokens":10}}`)
			b.SetBytes(int64(len(bodies[0])))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				body := bodies[n%len(bodies)]
				h.request = headerMapOf(chatHeaders(len(body)))
				s := r.NewHttpContext(uint32(n + 2)).(*stream)
				s.OnHttpRequestHeaders(0, false)
				h.chunk = body
				s.OnHttpRequestBody(len(body), false)
				s.OnHttpRequestBody(0, true)
				s.OnHttpResponseHeaders(0, false)
				h.chunk = answer
				s.OnHttpResponseBody(len(answer), true)
				s.OnHttpStreamDone()
				s.release()
				n++
				if n%50 == 0 {
					h.clock += tickPeriod
					r.OnTick()
				}
			}
		})
	}
}
