// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/list"
	"hash/maphash"
)

// tokenBytes is the length of a token in bytes of prompt.
const tokenBytes = 4

// A cache is the KV prefix cache of one engine: a bounded set of blocks, each
// named by the hash of its own tokens and all before it. Not safe for
// concurrent use.
type cache struct {
	limit      int // blocks
	blockBytes int
	seed       maphash.Seed
	blocks     map[uint64]*list.Element
	recent     list.List // of uint64; front is the most recently used
}

func newCache(limit, blockTokens int) *cache {
	return &cache{
		limit:      limit,
		blockBytes: blockTokens * tokenBytes,
		seed:       maphash.MakeSeed(),
		blocks:     make(map[uint64]*list.Element, limit),
	}
}

// chain returns the names of the full blocks of a prompt. Prompts under
// different namespaces (model, salt) have no block in common.
func (c *cache) chain(namespace string, prompt []byte) []uint64 {
	names := make([]uint64, 0, len(prompt)/c.blockBytes)
	before := maphash.String(c.seed, namespace)
	for len(prompt) >= c.blockBytes {
		var h maphash.Hash
		h.SetSeed(c.seed)
		maphash.WriteComparable(&h, before)
		h.Write(prompt[:c.blockBytes])
		before = h.Sum64()
		names = append(names, before)
		prompt = prompt[c.blockBytes:]
	}
	return names
}

// match returns how many leading blocks of the chain are held.
func (c *cache) match(chain []uint64) int {
	for i, name := range chain {
		if _, held := c.blocks[name]; !held {
			return i
		}
	}
	return len(chain)
}

// keep makes the chain's blocks the most recently used ones. Last block first,
// so that a prompt's tail is pushed out before its head.
func (c *cache) keep(chain []uint64) {
	if len(chain) > c.limit {
		chain = chain[:c.limit]
	}
	for i := len(chain) - 1; i >= 0; i-- {
		name := chain[i]
		if e, held := c.blocks[name]; held {
			c.recent.MoveToFront(e)
			continue
		}
		c.blocks[name] = c.recent.PushFront(name)
	}
	for len(c.blocks) > c.limit {
		oldest := c.recent.Back()
		delete(c.blocks, c.recent.Remove(oldest).(uint64))
	}
}

// clear forgets everything.
func (c *cache) clear() {
	clear(c.blocks)
	c.recent.Init()
}

// use returns the share of the cache that is filled, 0 to 1.
func (c *cache) use() float64 {
	return float64(len(c.blocks)) / float64(c.limit)
}
