// SPDX-License-Identifier: Apache-2.0

// Package stargate holds the algorithms of the routing expressions that
// NVIDIA's stargate gateway introduced: power-of-n, wait-and-widen,
// round-robin, random, pulsar and pulsar-wait-and-widen.
package stargate
