// SPDX-License-Identifier: Apache-2.0

// Package expr reads routing expressions, the text of the header
// x-routing-method, and the static configuration that they overlay.
//
//	header ──Parse──> Expression ──overlay on a base──> Settings ──compile──> definition
//	                                   ^                                         │
//	document ──ParseConfig──> Config ──┘                  Router: memo, cache <──┘
//
// An expression names an algorithm and some of its parameters:
//
//	pulsar;seed=stable-a;consider_kv_free_tokens=true
//
// It is a strict profile of a structured-field Item (RFC 9651 §3.3) whose bare
// item is a Token. docs/routing-expressions.md says what callers need to know,
// docs/routing-operators.md what operators need to know.
//
// Terms: an algorithm is a named way to pick, declared as data (Algorithm); the
// method is an algorithm's name or alias as a client spells it; a definition is
// an algorithm with all its parameters; the base is the configured definition
// that an expression starts from; the canonical form is the one spelling of all
// expressions that mean the same; a target is the pair of routing key and model;
// an instance is what an algorithm has to remember for one target and
// definition.
//
// The package knows no algorithm by name and no endpoint. It reads no clock
// (time is an argument, counted from the start of the VM) and starts no
// goroutine. Its types are not safe for concurrent use: a wasm VM has one
// thread.
//
// Not here: what an algorithm does with its settings, metrics, logs, and the
// reading of headers from a host.
package expr
