// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

package main

import (
	"time"
	"unsafe"
)

// envoy is the host of the module: proxy-wasm ABI 0.2.1 by go:wasmimport.
// The SDK binds these calls for TinyGo only.
type envoy struct{}

// Imports of the ABI (proxy-wasm/spec, abi-versions/v0.2.1). Strings travel as
// address and length; what the host returns it copies into memory that it has
// asked proxy_on_memory_allocate for.

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(id uint32) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(m uint32, address, size *uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(m uint32, name string, value *byte, size uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(m uint32, name string) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(b uint32, start, max uint32, address, size *uint32) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path string, address, size *uint32) uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(stream uint32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, details string, body *byte, bodySize uint32, headers *byte, headersSize uint32, grpc int32) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriodMilliseconds(period uint32) uint32

//go:wasmimport env proxy_get_current_time_nanoseconds
func proxyGetCurrentTimeNanoseconds(t *uint64) uint32

//go:wasmimport env proxy_log
func proxyLog(level uint32, line string) uint32

//go:wasmimport env proxy_get_log_level
func proxyGetLogLevel(level *uint32) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key string, address, size *uint32, cas *uint32) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key string, data *byte, size, cas uint32) uint32

//go:wasmimport env proxy_register_shared_queue
func proxyRegisterSharedQueue(name string, queue *uint32) uint32

//go:wasmimport env proxy_resolve_shared_queue
func proxyResolveSharedQueue(vmID, name string, queue *uint32) uint32

//go:wasmimport env proxy_enqueue_shared_queue
func proxyEnqueueSharedQueue(queue uint32, data *byte, size uint32) uint32

//go:wasmimport env proxy_dequeue_shared_queue
func proxyDequeueSharedQueue(queue uint32, address, size *uint32) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(cluster string, headers *byte, headersSize uint32, body *byte, bodySize uint32, trailers *byte, trailersSize, timeout uint32, token *uint32) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name string, id *uint32) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, delta int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

const statusOK = 0

// returned is where the host puts what it returns besides a status. A package
// variable, for the address of a local that crosses into the host would make
// each call allocate.
var returned struct {
	address uint32 // of bytes, which are memory's last allocation
	size    uint32 // of bytes
	word    uint32
	time    uint64
}

// reset makes room for the bytes of the next call.
func (envoy) reset() {
	memory.release()
	returned.size = 0
}

// bytes returns what the last call stored.
func (envoy) bytes(status uint32) ([]byte, bool) {
	if status != statusOK {
		return nil, false
	}
	return memory.last(int(returned.size)), true
}

func (envoy) setContext(id uint32) { proxySetEffectiveContext(id) }

func (e envoy) headers(m mapType) headerMap {
	e.reset()
	b, _ := e.bytes(proxyGetHeaderMapPairs(uint32(m), &returned.address, &returned.size))
	return b
}

func (envoy) setHeader(m mapType, name string, value []byte) {
	proxyReplaceHeaderMapValue(uint32(m), name, unsafe.SliceData(value), uint32(len(value)))
}

func (envoy) removeHeader(m mapType, name string) {
	proxyRemoveHeaderMapValue(uint32(m), name)
}

func (e envoy) body(b bufferType, start, size int) []byte {
	e.reset()
	p, _ := e.bytes(proxyGetBufferBytes(uint32(b), uint32(start), uint32(size), &returned.address, &returned.size))
	return p
}

func (e envoy) property(path string) ([]byte, bool) {
	e.reset()
	return e.bytes(proxyGetProperty(path, &returned.address, &returned.size))
}

func (envoy) continueRequest() { proxyContinueStream(0) }

func (envoy) reply(status int, headers [][2]string, body []byte) {
	h := headerMapOf(headers)
	proxySendLocalResponse(uint32(status), "kvsteer", unsafe.SliceData(body), uint32(len(body)),
		unsafe.SliceData(h), uint32(len(h)), -1)
}

func (envoy) tickPeriod(period time.Duration) {
	proxySetTickPeriodMilliseconds(uint32(period / time.Millisecond))
}

func (envoy) now() time.Duration {
	proxyGetCurrentTimeNanoseconds(&returned.time)
	return time.Duration(returned.time)
}

func (envoy) debugging() bool {
	status := proxyGetLogLevel(&returned.word)
	return status == statusOK && returned.word <= uint32(logDebug)
}

func (envoy) log(level logLevel, line string) { proxyLog(uint32(level), line) }

func (e envoy) sharedData(key string) ([]byte, uint32, bool) {
	e.reset()
	b, ok := e.bytes(proxyGetSharedData(key, &returned.address, &returned.size, &returned.word))
	return b, returned.word, ok
}

func (envoy) setSharedData(key string, value []byte, cas uint32) bool {
	return proxySetSharedData(key, unsafe.SliceData(value), uint32(len(value)), cas) == statusOK
}

func (envoy) registerQueue(name string) (uint32, bool) {
	status := proxyRegisterSharedQueue(name, &returned.word)
	return returned.word, status == statusOK
}

func (envoy) resolveQueue(name string) (uint32, bool) {
	vmID, _ := envoy{}.property("plugin_vm_id")
	status := proxyResolveSharedQueue(string(vmID), name, &returned.word)
	return returned.word, status == statusOK
}

func (envoy) enqueue(queue uint32, message []byte) bool {
	return proxyEnqueueSharedQueue(queue, unsafe.SliceData(message), uint32(len(message))) == statusOK
}

func (e envoy) dequeue(queue uint32) ([]byte, bool) {
	e.reset()
	return e.bytes(proxyDequeueSharedQueue(queue, &returned.address, &returned.size))
}

func (envoy) call(cluster string, headers [][2]string, timeout time.Duration) (uint32, bool) {
	h := headerMapOf(headers)
	status := proxyHTTPCall(cluster, unsafe.SliceData(h), uint32(len(h)), nil, 0, nil, 0,
		uint32(timeout/time.Millisecond), &returned.word)
	return returned.word, status == statusOK
}

func (envoy) defineMetric(kind metricKind, name string) (uint32, bool) {
	status := proxyDefineMetric(uint32(kind), name, &returned.word)
	return returned.word, status == statusOK
}

func (envoy) addMetric(id uint32, delta int64) { proxyIncrementMetric(id, delta) }

func (envoy) recordMetric(id uint32, value uint64) { proxyRecordMetric(id, value) }
