// SPDX-License-Identifier: Apache-2.0

// Package policy picks the endpoint of a request.
//
//	endpoints, load ──> Pool ── View (load) and Table (placements)
//	                     │
//	Request (hashes, ────┼──> Pick, Early ──> Decision: up to three endpoints,
//	marks, tag, now)     │         │          best first
//	                     │         └── an Instance of a Definition: how to rank
//	                     └──> Start, Learn, Observe: what the request did
//
// A Definition is an algorithm with its parameters, compiled once and never
// changed. What an algorithm has to remember (the place of a round robin, a
// stream of random numbers) is an Instance of it, made for one pool. A pick
// draws its candidates once; the second and third endpoint come from the same
// draw and touch no state a second time.
//
// The way of one request: Early after each chunk of the body until it is
// final, else Pick when the wait is over; Start when it is sent; Learn when its
// body has ended; Observe when the answer has told what was cached.
//
// Lengths are bytes of the canonical stream, queues are tokens; Pool.Tokens
// turns one into the other. Types are not safe for concurrent use. Nothing here
// allocates per request once the pool has seen its endpoints.
package policy
