// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"math/bits"
	"sort"
	"time"
	"unsafe"
)

const (
	// MaxEndpoints bounds Config.Endpoints: the match walk keeps one bit per
	// endpoint in 16 words.
	MaxEndpoints = 1024

	// Defaults of Config, about 4.3 MiB in all: with 256 endpoints a holder
	// row is half a cache line, and two placements per block leave room for
	// prefixes that several endpoints share.
	defaultEndpoints = 256
	defaultSlots     = 32768
	defaultNodes     = 2 * defaultSlots

	// maxEntries bounds Slots and Nodes so that indices and hashes of them fit.
	maxEntries = 1 << 24
)

var (
	// ErrEndpoints is returned by [New] for an endpoint count outside 1 to MaxEndpoints.
	ErrEndpoints = errors.New("table: endpoints out of range")
	// ErrEntries is returned by [New] for a slot or node count outside 1 to 2^24.
	ErrEntries = errors.New("table: slots or nodes out of range")
)

// Config holds the fixed sizes of a table; a zero field stands for its default.
type Config struct {
	Endpoints int // endpoints at one time; default 256, at most MaxEndpoints
	Slots     int // different blocks (under one tag each) and owned conversations; default 32,768
	Nodes     int // placements of all endpoints together; default 65,536
}

// Sized returns the largest configuration for so many endpoints that needs at
// most so many bytes, with two nodes per slot; the smallest one if even that
// needs more.
func Sized(bytes, endpoints int) Config {
	slots := sort.Search(maxEntries/2, func(n int) bool {
		return Config{endpoints, n + 1, 2 * (n + 1)}.Bytes() > bytes
	})
	slots = max(slots, 1)
	return Config{endpoints, slots, 2 * slots}
}

// Bytes returns the memory a table of this configuration takes.
func (c Config) Bytes() int {
	c = c.withDefaults()
	perSlot := int(unsafe.Sizeof(slot{})) + 8*words(c.Endpoints)
	return (c.Slots+1)*perSlot + (c.Nodes+1)*int(unsafe.Sizeof(node{})) +
		4*(2*buckets(c.Slots)+buckets(c.Nodes)) +
		c.Endpoints*int(unsafe.Sizeof(list{})) + 12*buckets(c.Endpoints)
}

func (c Config) withDefaults() Config {
	if c.Endpoints == 0 {
		c.Endpoints = defaultEndpoints
	}
	if c.Slots == 0 {
		c.Slots = defaultSlots
	}
	if c.Nodes == 0 {
		c.Nodes = defaultNodes
	}
	return c
}

// words returns how many 64-bit words hold one bit per endpoint.
func words(endpoints int) int { return (endpoints + 63) / 64 }

// buckets returns the length of an index of n entries: a power of two, so that
// the mean chain is between half an entry and one.
func buckets(n int) int { return 1 << bits.Len(uint(max(n, 2)-1)) }

// Table is the placement table. Use [New]. It is not safe for concurrent use.
// After New nothing allocates but [Table.Newest].
//
// An endpoint index that isn't in use makes every method a no-op that returns
// the zero value.
type Table struct {
	config Config
	words  int           // of a holder row
	clock  time.Duration // the latest time seen

	slots     []slot   // slot 0 is "none"
	holders   []uint64 // words per slot
	byPair    []uint32 // first slot of each bucket of (hash, tag, owner)
	byHash    []uint32 // first slot of each bucket of hash alone
	freeSlot  uint32   // first of the freed slots, linked by next
	usedSlots int      // slots[1:usedSlots+1] have been in use at some time

	nodes     []node   // node 0 is "none"
	byHolder  []uint32 // first node of each bucket of (slot, endpoint)
	freeNode  uint32   // first of the freed nodes, linked by next
	usedNodes int

	lists  []list
	excess tournament // endpoints by how far they are above their share
}

// Chain is a prompt's blocks under its tag.
type Chain struct {
	Hashes []uint64 // block hashes, first block first
	Ends   []uint32 // canonical end of each block, rising; as many as Hashes
	Tag    uint64   // what else the cache depends on
	AnyTag bool     // the tag isn't known yet: Match takes any, Learn and Shrink do nothing
	Tools  uint32   // canonical bytes that the tag stands for (tools), held before the first block
}

// Size returns the canonical bytes of a block, of the first with the tools, which
// are held once however many chains begin with it.
func (c *Chain) Size(block int) uint32 {
	if block == 0 {
		return c.Ends[0] + c.Tools
	}
	return c.Ends[block] - c.Ends[block-1]
}

// New returns an empty table without endpoints.
func New(c Config) (*Table, error) {
	c = c.withDefaults()
	if c.Endpoints < 1 || c.Endpoints > MaxEndpoints {
		return nil, ErrEndpoints
	}
	if min(c.Slots, c.Nodes) < 1 || max(c.Slots, c.Nodes) > maxEntries {
		return nil, ErrEntries
	}
	w := words(c.Endpoints)
	return &Table{
		config:   c,
		words:    w,
		slots:    make([]slot, c.Slots+1),
		holders:  make([]uint64, (c.Slots+1)*w),
		byPair:   make([]uint32, buckets(c.Slots)),
		byHash:   make([]uint32, buckets(c.Slots)),
		nodes:    make([]node, c.Nodes+1),
		byHolder: make([]uint32, buckets(c.Nodes)),
		lists:    make([]list, c.Endpoints),
		excess:   newTournament(c.Endpoints),
	}, nil
}

// Words returns the length of a candidate set: one bit per endpoint, bit e%64
// of word e/64.
func (t *Table) Words() int { return t.words }

// Held returns how many placements endpoint e has and their bytes.
func (t *Table) Held(e int) (placements int, bytes uint64) {
	if !t.live(e) {
		return 0, 0
	}
	return int(t.lists[e].count), t.lists[e].bytes
}

func (t *Table) live(e int) bool {
	return uint(e) < uint(len(t.lists)) && t.lists[e].live
}

// tick moves the table's clock on to now and returns it in the form that
// nodes and slots keep: milliseconds modulo 2³² (49 days). The clock never
// runs backwards.
func (t *Table) tick(now time.Duration) uint32 {
	t.clock = max(t.clock, now)
	return uint32(t.clock / time.Millisecond)
}

// ageOf returns how long ago a time in that form was, in milliseconds. Above
// 49 days it wraps; that only makes a list left alone for so long look younger.
func (t *Table) ageOf(touched uint32) uint32 {
	return uint32(t.clock/time.Millisecond) - touched
}

// age returns how long ago a node was touched, in milliseconds.
func (t *Table) age(n uint32) uint32 { return t.ageOf(t.nodes[n].touched) }
