// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// host is all that the plugin's logic sees of Envoy. Calls about a stream act
// on the effective context: the stream whose callback runs, or the one named
// by setContext.
//
// Every call that crosses into Envoy costs about as much as scanning 4 KiB, so
// each method is one host call. Bytes a method returns are valid until the
// next method that returns bytes.
type host interface {
	// setContext makes the stream or root context id the effective one.
	setContext(id uint32)

	// headers returns the whole map in wire form; nil where there is none.
	headers(m mapType) headerMap
	// setHeader replaces every line of the header by one.
	setHeader(m mapType, name string, value []byte)
	// removeHeader removes every line of the header.
	removeHeader(m mapType, name string)
	// body returns up to size bytes of the chunk from offset start on.
	body(b bufferType, start, size int) []byte
	// property returns the attribute at path, whose parts are joined by NUL;
	// ok is false where Envoy does not know it (yet).
	property(path string) (value []byte, ok bool)
	// continueRequest lets a paused request go on.
	continueRequest()
	// reply answers the request from here. At most one per stream.
	reply(status int, headers [][2]string, body []byte)

	// tickPeriod sets the period of the root context's ticks.
	tickPeriod(period time.Duration)
	// now is the wall clock, as time since the epoch.
	now() time.Duration
	// debugging reports whether Envoy's wasm logger shows debug lines.
	debugging() bool
	// log writes one line to Envoy's wasm logger.
	log(level logLevel, line string)

	// sharedData returns the value under key and its CAS number;
	// ok is false where the key was never set.
	sharedData(key string) (value []byte, cas uint32, ok bool)
	// setSharedData writes the value if cas still is the key's number
	// (0: whatever it is); ok tells whether it was written.
	setSharedData(key string, value []byte, cas uint32) (ok bool)
	// registerQueue creates or takes over the queue and becomes its consumer.
	registerQueue(name string) (queue uint32, ok bool)
	// resolveQueue finds a queue of this VM's namespace.
	resolveQueue(name string) (queue uint32, ok bool)
	// enqueue appends a message; ok is false where the queue is gone.
	enqueue(queue uint32, message []byte) (ok bool)
	// dequeue takes the oldest message; ok is false where there is none.
	dequeue(queue uint32) (message []byte, ok bool)

	// call sends a GET to a cluster from the root context; the answer comes
	// as the context's OnHttpCallResponse with the same token.
	call(cluster string, headers [][2]string, timeout time.Duration) (token uint32, ok bool)

	// defineMetric returns the id of a metric, the same for the same name.
	defineMetric(kind metricKind, name string) (id uint32, ok bool)
	// addMetric adds to a counter.
	addMetric(id uint32, delta int64)
	// recordMetric sets a gauge or records into a histogram.
	recordMetric(id uint32, value uint64)
}

// caller is a root context that makes callouts.
type caller interface {
	OnHttpCallResponse(token uint32, numHeaders, bodySize int)
}

// mapType is a header map of the ABI (proxy_map_type_t).
type mapType uint32

const (
	requestHeaders  mapType = 0
	responseHeaders mapType = 2
	callHeaders     mapType = 6
)

// bufferType is a body buffer of the ABI (proxy_buffer_type_t).
type bufferType uint32

const (
	requestBody   bufferType = 0
	responseBody  bufferType = 1
	callBody      bufferType = 4
	vmConfig      bufferType = 6
	pluginConfig  bufferType = 7
	wholeBuffer              = 1<<31 - 1 // size for body: all of it
	bodyWindow               = 64 << 10  // largest piece of a body read at once
	requestPaused            = 1         // header callback: wait
	bodyHeld                 = 2         // body callback: keep the headers waiting (StopIterationAndWatermark)
)

// logLevel is a level of proxy_log.
type logLevel uint32

const (
	logDebug logLevel = iota + 1
	logInfo
	logWarn
	logError
)

// metricKind is a metric type of the ABI.
type metricKind uint32

const (
	counterMetric metricKind = iota
	gaugeMetric
	histogramMetric
)
