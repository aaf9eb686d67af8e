// SPDX-License-Identifier: Apache-2.0

// Package sim compares ways to pick an endpoint on traces of requests, in
// virtual time.
//
//	Trace ──arrivals──> Gateway (one of several) ── Policy.Pick ──> Engine
//	                        ^                                         │
//	                        └──── load, as old as the setting says ───┘──> Report
//
// A trace is a list of requests made of blocks of BlockTokens tokens; equal
// block numbers are equal prefixes up to and including that block. Engines
// compute prompts first come first served, keep blocks in an LRU cache, and
// decode. Gateways share nothing: each has its own policy, its own load view
// and sees only its own requests.
//
// One file holds one policy. The project's own algorithms run as they do in
// Envoy, on the real table and load model (kvsteer.go); peers are made anew
// from their published formulas and defaults; bounds are named for what they
// are. Everything is seeded, nothing runs beside anything else, and two runs
// with one Config give the same Report to the last bit.
package sim
