// SPDX-License-Identifier: Apache-2.0

// Package e2e looks at kvsteer from outside: the built module in a real Envoy,
// in front of simulated engines. It imports nothing of the plugin's, so that no
// fault can stand on both sides of a test.
//
//	engine   simulated inference engines (engines is their command)
//	envoy    finds, starts and questions an Envoy
//	demo     a command: one workload through three ways to balance, side by side
//	bench    a command: what the plugin costs in CPU time
//
// The tests of this package need Envoy and build/out/kvsteer.wasm and fail
// without them; KVSTEER_SKIP_ENVOY=1 skips them.
package e2e
