// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
)

// chains keeps the block hashes of prompts whose answers are still to come, so
// that an answer can correct what was learnt when the body ended. Readers can't
// stay for that: they are few and an answer may take minutes.
//
// It is a ring, 384 KiB: what is kept last overwrites what was kept first. With
// 30 blocks a prompt that is the latest thousand; an older one can't be
// corrected any more, which is counted.
type chains struct {
	hashes  []uint64
	ends    []uint32
	next    uint64         // blocks kept so far; the ring's index is next modulo its size
	request policy.Request // the last one given out
}

const (
	chainBlocks = 32 << 10        // of all chains
	chainMost   = chainBlocks / 8 // of one
)

// chain is a prompt in the ring.
type chain struct {
	policy.Request        // without the slices
	at             uint64 // its first block
	blocks         int
}

// keep puts r's chain into the ring.
func (c *chains) keep(r *policy.Request) chain {
	k := chain{Request: *r, at: c.next, blocks: len(r.Hashes)}
	k.Hashes, k.Ends = nil, nil
	if k.blocks == 0 || k.blocks > chainMost {
		k.blocks = 0
		return k
	}
	if c.hashes == nil {
		c.hashes, c.ends = make([]uint64, chainBlocks), make([]uint32, chainBlocks)
	}
	if rest := chainBlocks - int(c.next%chainBlocks); rest < k.blocks {
		c.next += uint64(rest) // a chain lies in one piece
		k.at = c.next
	}
	at := k.at % chainBlocks
	copy(c.hashes[at:], r.Hashes)
	copy(c.ends[at:], r.Ends)
	c.next += uint64(k.blocks)
	return k
}

// recall returns the request of a chain, valid until the next call. It has no
// hashes if they have been overwritten.
func (c *chains) recall(k *chain, now time.Duration) *policy.Request {
	c.request = k.Request
	c.request.Now = now
	if k.blocks > 0 && c.next-k.at <= chainBlocks {
		at := k.at % chainBlocks
		c.request.Hashes = c.hashes[at:][:k.blocks]
		c.request.Ends = c.ends[at:][:k.blocks]
	}
	return &c.request
}
