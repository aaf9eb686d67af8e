// SPDX-License-Identifier: Apache-2.0

// Package stargate holds the algorithms that routing expressions inherit from
// NVIDIA's stargate router: power-of-n, wait-and-widen, pulsar and
// pulsar-wait-and-widen, with their parameters, comparators and admission
// limit. Its round-robin and random are those of package policy.
//
//	expr.Settings ──Compile──> Definition ─┐
//	endpoints with statistics, by ID ──────┼──Picker.Pick──> positions, best first
//	Request, Instance ─────────────────────┘
//
// Words: a sample is drawn uniformly without replacement; the bucket is the
// group of endpoints with nearly the same expected time to the first token;
// a band is a run of ranks 1, 2-3, 4-7, 8-15 and so on; an endpoint is eligible
// unless it failed for this request, and feasible if it also has room in its KV
// cache where the definition asks for that.
//
// All choices of a request come from one draw: its random bits put the
// endpoints in one order, a sample is the beginning of that order, and ties go
// to the earlier one. So the second and third choice are what picking again
// without the first would give, and no state moves a second time.
//
// Choices by hash depend on nothing but seed, routing key, model, affinity key
// and endpoint ids (Definition.hash), so all workers and replicas agree.
// Pulsar's score has the form of package hrw's but other bits: the hash is part
// of the published format, which other gateways share.
//
// Sources: docs/routing-expressions.md; Mitzenmacher, "The power of two choices
// in randomized load balancing", IEEE TPDS 12(10), 2001; Karger et al.,
// "Consistent hashing and random trees", STOC 1997; Schindelhauer and
// Schomaker, "Weighted distributed hash tables", SPAA 2005.
//
// Not here: waiting itself, locality, learnt rates, prefix matching. Types are
// not safe for concurrent use. A warm pick allocates nothing, except where a
// ring is built.
package stargate
