// SPDX-License-Identifier: Apache-2.0

package expr

import "time"

// The limits of the definition cache.
const (
	maxEntries  = 1024             // of one VM, over all targets
	perTarget   = 2                // the current expression and the one before
	idleTimeout = 15 * time.Minute // an entry that was not used for so long is gone
)

// Cause is why an entry left the cache.
type Cause uint8

// The causes. The list is closed.
const (
	Idle Cause = iota
	Capacity
	Replaced     // by a further expression of the same target
	ConfigChange // it belongs to an older configuration
	Dropped      // it was named
	causeCount
)

var causes = [causeCount + 1]string{"idle", "capacity", "replaced", "config_change", "dropped"}

// String returns the name as in metrics.
func (c Cause) String() string { return causes[min(c, causeCount)] }

// Eviction tells of an entry that left the cache.
type Eviction struct {
	Target string // as the cache's user encoded it
	Form   string // canonical form
	Cause  Cause
}

// cache keeps compiled definitions D with an instance S per target. It is not
// safe for concurrent use.
//
// One budget bounds all: an entry is a (target, canonical form) with an
// instance of its own; definitions are shared by all entries of the same base
// and form, and go with the last of them. So definitions ≤ entries ≤ capacity,
// however many targets or forms there are.
//
// Invariants: slots holds exactly the live entries, each slot at least one and
// at most limit, in order of insertion; the ring holds the same entries, and
// those of the caches it is shared with; definitions holds exactly those that a
// live entry refers to, with their number.
type cache[D, S any] struct {
	*ring[D, S]
	limit       int // entries of one target; 0: only capacity bounds them
	evicted     func(Eviction)
	slots       map[string]*slot[D, S]
	definitions map[share]*shared[D]
	count       int // live entries, expired ones included until a sweep
}

// ring has the live entries of one or several caches in order of use, the one
// unused longest at root.newer. Its capacity bounds all of them together.
type ring[D, S any] struct {
	capacity int
	total    int
	root     entryOf[D, S]
}

func (r *ring[D, S]) init(capacity int) {
	r.capacity = max(capacity, 1)
	r.root.older, r.root.newer = &r.root, &r.root
}

// Budget bounds what several routers keep together: no more than one of them
// would alone. It must not be copied.
type Budget[D, S any] struct{ dynamic, static ring[D, S] }

// NewBudget returns a budget of so many entries, 0: 1024.
func NewBudget[D, S any](entries int) *Budget[D, S] {
	if entries == 0 {
		entries = maxEntries
	}
	b := &Budget[D, S]{}
	b.dynamic.init(entries)
	b.static.init(entries)
	return b
}

// slot holds the entries of one target.
type slot[D, S any] struct{ entries []*entryOf[D, S] }

// share is what equal definitions have in common.
type share struct {
	base int // index of the static definition
	form string
}

type shared[D any] struct {
	share
	definition D
	refs       int // live entries
}

// entryOf is an entry before, while and after it is in the cache.
type entryOf[D, S any] struct {
	home         *cache[D, S]
	target, form string
	base         *Static
	def          *shared[D]
	instance     S
	demands      Demand
	used         time.Duration
	state        entryState
	older, newer *entryOf[D, S]
}

type entryState uint8

const (
	fresh   entryState = iota // built, not yet in the cache
	live                      // in the cache
	retired                   // was in the cache and never comes back
)

// newCache returns an empty cache whose entries are in r, at most limit of them
// of one target (0: no such bound). evicted is told of each entry that leaves;
// it may be nil.
func newCache[D, S any](r *ring[D, S], limit int, evicted func(Eviction)) *cache[D, S] {
	return &cache[D, S]{
		ring: r, limit: limit, evicted: evicted,
		slots: make(map[string]*slot[D, S]), definitions: make(map[share]*shared[D]),
	}
}

// find returns the live entry and refreshes it; nil if there is none. It does
// not allocate.
func (c *cache[D, S]) find(target, form []byte, now time.Duration) *entryOf[D, S] {
	s := c.slots[string(target)]
	if s == nil {
		return nil
	}
	for _, e := range s.entries {
		if e.form == string(form) {
			if !c.use(e, now) {
				return nil
			}
			return e
		}
	}
	return nil
}

// use refreshes e if it is live and not idle for too long, and reports whether
// it was.
func (c *cache[D, S]) use(e *entryOf[D, S], now time.Duration) bool {
	if e.state != live || now-e.used >= idleTimeout {
		return false
	}
	e.used = now
	e.unlink()
	c.pushNewest(e)
	return true
}

// definition returns what entries of the same base and form share, or compiles
// it.
func (c *cache[D, S]) definition(base int, form []byte, compile func() D) *shared[D] {
	if d := c.definitions[share{base, string(form)}]; d != nil {
		return d
	}
	return &shared[D]{share: share{base, string(form)}, definition: compile()}
}

// insert puts a fresh entry in and returns the live one of its target and
// form, which is another if that came first. An entry that is not fresh stays
// what it is: a retired one never comes back.
func (c *cache[D, S]) insert(e *entryOf[D, S], now time.Duration) *entryOf[D, S] {
	if e.state != fresh {
		return e
	}
	c.sweep(now)
	if first := c.find([]byte(e.target), []byte(e.form), now); first != nil {
		return first
	}
	if s := c.slots[e.target]; s != nil && c.limit > 0 && len(s.entries) >= c.limit {
		s.entries[0].evict(Replaced)
	}
	for c.total >= c.capacity {
		c.root.newer.evict(Capacity)
	}
	c.link(e, now)
	return e
}

// link makes e live.
func (c *cache[D, S]) link(e *entryOf[D, S], now time.Duration) {
	s := c.slots[e.target]
	if s == nil {
		s = &slot[D, S]{}
		c.slots[e.target] = s
	}
	s.entries = append(s.entries, e)
	if d := c.definitions[e.def.share]; d != nil {
		e.def = d
	} else {
		c.definitions[e.def.share] = e.def
	}
	e.def.refs++
	e.home, e.state, e.used = c, live, now
	c.pushNewest(e)
	c.count++
	c.total++
}

// evict takes a live entry out of everything in one step.
func (e *entryOf[D, S]) evict(why Cause) {
	c := e.home
	s := c.slots[e.target]
	for i := range s.entries {
		if s.entries[i] == e {
			s.entries = append(s.entries[:i], s.entries[i+1:]...)
			break
		}
	}
	if len(s.entries) == 0 {
		delete(c.slots, e.target)
	}
	if e.def.refs--; e.def.refs == 0 {
		delete(c.definitions, e.def.share)
	}
	e.unlink()
	e.state = retired
	c.count--
	c.total--
	if c.evicted != nil {
		c.evicted(Eviction{Target: e.target, Form: e.form, Cause: why})
	}
}

// sweep drops what was not used for the idle timeout, in all caches of the ring.
// Call it at least once a minute. Cost: O(entries dropped).
func (r *ring[D, S]) sweep(now time.Duration) {
	for e := r.root.newer; e != &r.root && now-e.used >= idleTimeout; e = r.root.newer {
		e.evict(Idle)
	}
}

// drop removes exactly the entry of this target and form; if there is none,
// nothing happens.
func (c *cache[D, S]) drop(target, form string) {
	s := c.slots[target]
	if s == nil {
		return
	}
	for _, e := range s.entries {
		if e.form == form {
			e.evict(Dropped)
			return
		}
	}
}

// clear drops everything of this cache, the one unused longest first.
func (c *cache[D, S]) clear(why Cause) {
	for e := c.root.newer; c.count > 0; {
		next := e.newer
		if e.home == c {
			e.evict(why)
		}
		e = next
	}
}

func (e *entryOf[D, S]) unlink() {
	e.older.newer, e.newer.older = e.newer, e.older
	e.older, e.newer = nil, nil
}

// pushNewest puts e at the end of the ring that was used last.
func (r *ring[D, S]) pushNewest(e *entryOf[D, S]) {
	e.older, e.newer = r.root.older, &r.root
	e.older.newer, e.newer.older = e, e
}
