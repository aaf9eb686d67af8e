// SPDX-License-Identifier: Apache-2.0

// Command plugin is kvsteer's wasm module: the thin layer between Envoy and
// package policy. Built with GOOS=wasip1 -buildmode=c-shared it is what Envoy
// loads; built natively it is what the tests drive.
//
//	exports_wasip1.go   proxy-wasm ABI 0.2.1 entry points → contexts
//	host.go             what the logic sees of Envoy; host_wasip1.go implements it, host_sdk_test.go for tests
//	vm.go               one VM: roots by id, pools, tables that outlive a configuration
//	config.go           configuration text → settings, all faults at once: decode.go, address.go
//	filter.go           root context of the HTTP filter: ticks, waiting streams
//	stream.go           one request: classify → scan → pick → learn; classify.go, shapes.go, readers.go
//	reason.go           why a request is left to Envoy
//	response.go         its answer: who served, correct what was learnt; chains.go, standing.go, usage.go, answers.go
//	probe.go, wiring.go notice an Envoy that is configured in another way than this module needs
//	exchange.go         worker threads act as one gateway: exchange_*.go, handover.go
//	routing.go          routing expressions, where there is a routing section
//	collector.go        who the endpoints are and how busy: lease.go, hosts.go, scrape.go, fleet.go, push.go, gauges.go
//	follow.go           snapshots of the collector → pools; roster.go lists who wants them
//	metrics.go          counters, flushed from the tick
//	warmup.go           every hot path once before the first request: warmup_*.go
//
// A VM is single-threaded. Nothing here starts a goroutine, a timer or a
// channel operation: Envoy before 1.39 kills a VM that does (golang/go#78513).
package main

// main is never called: a c-shared module is a reactor, started through
// _initialize.
func main() {}
