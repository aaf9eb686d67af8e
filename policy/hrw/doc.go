// SPDX-License-Identifier: Apache-2.0

// Package hrw names the node that a key belongs to by weighted rendezvous
// hashing (highest random weight).
//
//	mix   = splitmix64(key xor node.Seed)       64 bits, one per (key, node)
//	u     = (mix>>16 + ½) / 2⁴⁸                 in (0, 1)
//	score = -node.Weight / ln u                 highest score wins
//
// Each node's score depends on the key and on that node alone. So a node that
// joins takes keys from the others and moves nothing between them, a node that
// leaves gives up only its own keys, and the order of the nodes in the slice
// doesn't matter. A node wins a share Weight / sum of weights of all keys.
//
// Sources: Thaler and Ravishankar, "Using name-based mappings to increase hit
// rates", IEEE/ACM Transactions on Networking 6(1), 1998 (rendezvous hashing);
// Schindelhauer and Schomaker, "Weighted distributed hash tables", SPAA 2005,
// the logarithmic method (the score above is the reciprocal of their distance
// -ln(u)/w, so the highest wins instead of the lowest); Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014 (splitmix64).
//
// Weights are capacities, quantised by [Weight]. Load and learnt rates don't
// belong here: two workers see different loads and must name the same node.
//
// All results are the same to the last bit on every architecture and in wasm.
// The package has a logarithm of its own because math.Log is assembly on some
// architectures, and each product that feeds a sum is wrapped in a conversion
// to float64, which the Go specification defines to prevent fusing the two
// into one operation with one rounding.
package hrw
