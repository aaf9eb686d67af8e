// SPDX-License-Identifier: Apache-2.0

// Package load knows how busy the endpoints of a pool are.
//
//	Envoy's host list ──> View.SetEndpoints ─┐
//	engines' statistics ─> View.Report ──────┼─> Endpoint: queue, running, rates, penalties
//	our own live streams ─> Flight ──────────┘         │
//	                                                   └─> every algorithm and comparator
//
// One View serves a pool and all algorithms that pick from it. It is updated
// in place when a snapshot arrives, never copied for a request. An Endpoint
// keeps its address as long as it is listed, so live streams hold pointers to
// it; after its removal those pointers stay safe and count for nothing.
//
// Three sources add up to the queue of an endpoint, in prompt tokens that are
// still to be computed: our own streams, those of the other workers of this
// gateway, and what the engine's statistics show beyond both. Statistics lose
// half of their weight every two seconds and are unknown after ten, so stale
// load fades into our own counts and never closes anything.
//
// What it does not do: fetch or parse statistics, know prompts or caches,
// choose. Types are not safe for concurrent use: a proxy-wasm VM is
// single-threaded. Time is an argument everywhere, as a duration since the
// start of the VM.
package load
