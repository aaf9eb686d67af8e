// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// sdkHost is the host natively: the SDK's calls, which its emulator answers.
type sdkHost struct{}

func (sdkHost) setContext(id uint32) { proxywasm.SetEffectiveContext(id) }

func (sdkHost) headers(m mapType) headerMap {
	var lines [][2]string
	switch m {
	case requestHeaders:
		lines, _ = proxywasm.GetHttpRequestHeaders()
	case responseHeaders:
		lines, _ = proxywasm.GetHttpResponseHeaders()
	case callHeaders:
		lines, _ = proxywasm.GetHttpCallResponseHeaders()
	}
	return headerMapOf(lines)
}

func (sdkHost) debugging() bool { return false }

func (sdkHost) setHeader(m mapType, name string, value []byte) {
	if m == requestHeaders {
		proxywasm.ReplaceHttpRequestHeader(name, string(value))
	} else {
		proxywasm.ReplaceHttpResponseHeader(name, string(value))
	}
}

func (sdkHost) removeHeader(m mapType, name string) {
	if m == requestHeaders {
		proxywasm.RemoveHttpRequestHeader(name)
	} else {
		proxywasm.RemoveHttpResponseHeader(name)
	}
}

func (sdkHost) body(b bufferType, start, size int) []byte {
	var p []byte
	switch b {
	case requestBody:
		p, _ = proxywasm.GetHttpRequestBody(start, size)
	case responseBody:
		p, _ = proxywasm.GetHttpResponseBody(start, size)
	case callBody:
		p, _ = proxywasm.GetHttpCallResponseBody(start, size)
	case pluginConfig:
		p, _ = proxywasm.GetPluginConfiguration()
	}
	return p
}

func (sdkHost) property(path string) ([]byte, bool) {
	b, err := proxywasm.GetProperty(strings.Split(path, "\x00"))
	return b, err == nil
}

func (sdkHost) continueRequest() { proxywasm.ResumeHttpRequest() }

func (sdkHost) reply(status int, headers [][2]string, body []byte) {
	proxywasm.SendHttpResponse(uint32(status), headers, body, -1)
}

func (sdkHost) tickPeriod(period time.Duration) {
	proxywasm.SetTickPeriodMilliSeconds(uint32(period / time.Millisecond))
}

// now is the test process's clock: the emulator has none.
func (sdkHost) now() time.Duration { return time.Duration(time.Now().UnixNano()) }

func (sdkHost) log(level logLevel, line string) {
	switch level {
	case logError:
		proxywasm.LogError(line)
	case logWarn:
		proxywasm.LogWarn(line)
	default:
		proxywasm.LogInfo(line)
	}
}

func (sdkHost) sharedData(key string) ([]byte, uint32, bool) {
	b, cas, err := proxywasm.GetSharedData(key)
	return b, cas, err == nil
}

func (sdkHost) setSharedData(key string, value []byte, cas uint32) bool {
	return proxywasm.SetSharedData(key, value, cas) == nil
}

func (sdkHost) registerQueue(name string) (uint32, bool) {
	q, err := proxywasm.RegisterSharedQueue(name)
	return q, err == nil
}

func (sdkHost) resolveQueue(name string) (uint32, bool) {
	q, err := proxywasm.ResolveSharedQueue("", name)
	return q, err == nil
}

func (sdkHost) enqueue(queue uint32, message []byte) bool {
	return proxywasm.EnqueueSharedQueue(queue, message) == nil
}

func (sdkHost) dequeue(queue uint32) ([]byte, bool) {
	b, err := proxywasm.DequeueSharedQueue(queue)
	return b, err == nil
}

func (sdkHost) call(cluster string, headers [][2]string, timeout time.Duration) (uint32, bool) {
	token, err := proxywasm.DispatchHttpCall(cluster, headers, nil, nil, uint32(timeout/time.Millisecond), nil)
	return token, err == nil
}

// The SDK keeps a metric's type with its id, the ABI does not: counters are
// all that the emulated contexts use.
func (sdkHost) defineMetric(_ metricKind, name string) (uint32, bool) {
	return uint32(proxywasm.DefineCounterMetric(name)), true
}

func (sdkHost) addMetric(id uint32, delta int64) {
	proxywasm.MetricCounter(id).Increment(uint64(delta))
}

func (sdkHost) recordMetric(id uint32, value uint64) {
	proxywasm.MetricHistogram(id).Record(value)
}
