// SPDX-License-Identifier: Apache-2.0

// Package table remembers which endpoint is believed to hold which block of
// which prompts in its KV cache: a bi-directional LRU on fixed arrays.
//
//	forward   (hash, tag) ──> slot {holders: one bit per endpoint}     read by Match
//	reverse   endpoint ──> list of nodes (slot, size), newest first    off the lookup path
//
// A placement "endpoint e holds block h under tag g" is one bit in a slot and
// one node in e's list, always both: [Table.link] sets both and [Table.unlink]
// clears both, and nothing else does either.
//
// The package knows a block by its hash alone. A block hash covers all blocks
// before it, so each hash has one predecessor and the blocks form a tree; a
// chain is a path from a root. Different tags are different trees.
//
// # Invariants
//
// They hold after every call; the tests check each of them after each step.
//
//  1. Bit e of a slot is set if and only if exactly one node of e's list points
//     to the slot. A slot without holders is free.
//  2. The bytes of an endpoint are the sum of the sizes of its nodes, and not
//     above its capacity.
//  3. A list is in order of time: no node was touched before its older neighbour.
//  4. No node is older than its successor: where e holds a block and its
//     predecessor under one tag, the predecessor is nearer to the newest end
//     of e's list. It holds for chains that share a prefix too, because each
//     chain that touches a block touches all its predecessors after it.
//     (Where [Table.Place] is used, this and the next are in its caller's hands.)
//  5. So eviction, which takes the oldest node of a list, takes tails before
//     heads: what an endpoint holds of a tree is closed under "predecessor".
//     Only [Table.Shrink] on a chain whose blocks other chains share, and the
//     bound on collisions (see maxRun), can leave blocks without their
//     predecessor; they match nothing and grow old.
//  6. A conversation key has at most one owner.
//
// # Why chained buckets
//
// Slots and nodes never move, so a node may point to its slot and a list may
// link nodes by index. Each index is an array of chain heads with the links in
// the entries; deletion unlinks one entry and leaves no tombstone. A backward
// shift in open addressing would move slots, with their holders and all nodes
// that point to them.
//
// There are three such indexes: slots by (hash, tag), for lookup; slots by
// hash alone, for a prompt whose tag isn't known yet; and nodes by (slot,
// endpoint), to touch a placement again. The last makes touching O(1) where a
// chain of a slot's nodes would take O(holders), which for a system prompt
// that 1,024 endpoints hold is most of the cost of learning a request. Its
// price is 8 bytes per node.
//
// # What it does not do
//
// It reads no clock, computes no hash of content and knows no engine's block
// size. It does not decide where a request goes.
package table
