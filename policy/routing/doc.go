// SPDX-License-Identifier: Apache-2.0

// Package routing is the project's set of algorithms as routing expressions see
// it: their declarations, and the way from effective settings to something a
// pool can pick with.
//
//	Catalog ──ParseConfig──> expr.Config ──NewRouter──> Router
//	request headers ──Router.Resolve──> Choice ──Runner.Bind──> policy.Instance ──> Pool.Pick
//
// The algorithms of package stargate see a pool's load through a Runner, which
// fills their endpoints in place for each pick; those of package policy are
// handed over as they are.
//
// Types are not safe for concurrent use.
package routing
