// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

package main

import (
	"unsafe"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// The entry points of proxy-wasm ABI 0.2.1. Each finds its context, calls it,
// and survives a panic: the zero result lets the request go on. An id nobody
// knows is a no-op, for Envoy may call for a stream whose filter chain is
// being torn down (envoy#36989).

var (
	theVM   = newVM(envoy{})
	roots   = map[uint32]types.PluginContext{}
	streams = map[uint32]types.HttpContext{}
)

// survive is deferred by every entry point.
func survive() {
	if p := recover(); p != nil {
		theVM.panicked(p)
	}
}

// panicked notes a panic that an entry point survived.
func (v *vm) panicked(p any) {
	v.metrics.add(panics, 1)
	if v.routed != nil {
		m := &v.routed.metrics
		m.add(requestsTotal, m.method("unknown"), outcomeError)
	}
	text := "panic"
	switch p := p.(type) {
	case error:
		text += ": " + p.Error()
	case string:
		text += ": " + p
	}
	v.log(logError, "kvsteer: "+text)
}

//go:wasmexport proxy_abi_version_0_2_1
func proxyABIVersion() {}

//go:wasmexport proxy_on_memory_allocate
func proxyOnMemoryAllocate(size uint32) unsafe.Pointer { return memory.allocate(int(size)) }

//go:wasmexport proxy_on_vm_start
func proxyOnVMStart(_, size uint32) (ok bool) {
	defer survive()
	return bool(theVM.OnVMStart(int(size)))
}

//go:wasmexport proxy_on_configure
func proxyOnConfigure(id, size uint32) (ok bool) {
	defer survive()
	if r := roots[id]; r != nil {
		return bool(r.OnPluginStart(int(size)))
	}
	return false
}

//go:wasmexport proxy_on_context_create
func proxyOnContextCreate(id, root uint32) {
	defer survive()
	if root == 0 {
		roots[id] = theVM.NewPluginContext(id)
		return
	}
	if r := roots[root]; r != nil {
		if s := r.NewHttpContext(id); s != nil {
			streams[id] = s
		}
	}
}

//go:wasmexport proxy_on_tick
func proxyOnTick(id uint32) {
	defer survive()
	if r := roots[id]; r != nil {
		r.OnTick()
	}
}

//go:wasmexport proxy_on_queue_ready
func proxyOnQueueReady(id, queue uint32) {
	defer survive()
	if r := roots[id]; r != nil {
		r.OnQueueReady(queue)
	}
}

//go:wasmexport proxy_on_http_call_response
func proxyOnHTTPCallResponse(id, token, numHeaders, bodySize, _ uint32) {
	defer survive()
	if r, ok := roots[id].(caller); ok {
		r.OnHttpCallResponse(token, int(numHeaders), int(bodySize))
	}
}

//go:wasmexport proxy_on_request_headers
func proxyOnRequestHeaders(id, n uint32, end bool) (action types.Action) {
	defer survive()
	if s := streams[id]; s != nil {
		return s.OnHttpRequestHeaders(int(n), end)
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_request_body
func proxyOnRequestBody(id, size uint32, end bool) (action types.Action) {
	defer survive()
	if s := streams[id]; s != nil {
		return s.OnHttpRequestBody(int(size), end)
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_request_trailers
func proxyOnRequestTrailers(id, n uint32) (action types.Action) {
	defer survive()
	if s := streams[id]; s != nil {
		return s.OnHttpRequestTrailers(int(n))
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_response_headers
func proxyOnResponseHeaders(id, n uint32, end bool) (action types.Action) {
	defer survive()
	if s := streams[id]; s != nil {
		return s.OnHttpResponseHeaders(int(n), end)
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_response_body
func proxyOnResponseBody(id, size uint32, end bool) (action types.Action) {
	defer survive()
	if s := streams[id]; s != nil {
		return s.OnHttpResponseBody(int(size), end)
	}
	return types.ActionContinue
}

//go:wasmexport proxy_on_done
func proxyOnDone(id uint32) (done bool) {
	defer survive()
	if r := roots[id]; r != nil {
		return r.OnPluginDone()
	}
	return true
}

//go:wasmexport proxy_on_log
func proxyOnLog(id uint32) {
	defer survive()
	if s := streams[id]; s != nil {
		s.OnHttpStreamDone()
	}
}

//go:wasmexport proxy_on_delete
func proxyOnDelete(id uint32) {
	defer survive()
	if s := streams[id]; s != nil {
		delete(streams, id)
		s.(*stream).release()
		return
	}
	delete(roots, id)
}
