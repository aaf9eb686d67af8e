// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"encoding/binary"
	"strings"
	"time"
)

// Result says where the definition of a request came from.
type Result uint8

// The results.
const (
	Uncached  Result = iota // the configured definition: no header, or only a method
	Hit                     // found in the cache
	Miss                    // built for this request
	Temporary               // built for this request only: there was no endpoint
	resultCount
)

var results = [resultCount + 1]string{"uncached", "hit", "miss", "temporary"}

// String returns the name as in metrics.
func (r Result) String() string { return results[min(r, resultCount)] }

// Maker turns settings into what a program runs: a definition D, shared by all
// targets and never changed, and an instance S, which holds what a stateful
// algorithm remembers of one target. Neither can fail: settings are valid.
// Compile must not keep the Settings, which are overwritten later.
type Maker[D, S any] struct {
	Compile func(*Settings) D
	Start   func(D) S
	Evicted func(Eviction) // may be nil
	Budget  *Budget[D, S]  // shared with other routers; nil: one of its own
}

// Router answers what the expression of a request comes to, and remembers it.
// It is not safe for concurrent use.
//
// In front stands a memo: a request whose target and header bytes were seen
// lately costs one lookup and no allocation. Behind it an expression is parsed
// and laid over its base each time, and the cache is asked for its canonical
// form.
type Router[D, S any] struct {
	maker    Maker[D, S]
	config   *Config
	compiled []compiled[D, S] // by Static.index
	dynamic  *cache[D, S]     // expressions with parameters
	static   *cache[D, S]     // instances of configured definitions
	memo     memo[D, S]
	closed   bool // Close was called: nothing is kept any more
	work     overlay
	key      []byte
}

// compiled is a configured definition, ready to run.
type compiled[D, S any] struct {
	definition D
	instance   S // of stateless algorithms, for all targets
	demands    Demand
}

// Query is what a router needs to know of a request. Whoever reads routing key
// and model bounds their length, and so the memory that entries take.
type Query struct {
	Group      uint32 // which endpoints it is for, where there are several sets of them; part of the target
	RoutingKey string // "" is none
	Model      string
	Value      string // of x-routing-method
	Lines      int    // how many lines of x-routing-method came; 0 is none
}

// Choice is the definition of one request. A request keeps it for all its
// attempts: neither an eviction nor the end of the router changes it.
type Choice[D, S any] struct {
	Definition D
	Instance   S
	Algorithm  string // canonical name
	Base       string // as Static.Base
	Canonical  string // "" without an expression
	Requested  string // the method as it was written, "" without an expression
	Demands    Demand // what the request must carry
	Result     Result

	entry *entryOf[D, S]
}

// NewRouter returns a router for a configuration. Another configuration is
// another router.
func NewRouter[D, S any](config *Config, maker Maker[D, S]) *Router[D, S] {
	if maker.Budget == nil {
		maker.Budget = NewBudget[D, S](0)
	}
	r := &Router[D, S]{maker: maker, config: config}
	r.dynamic = newCache(&maker.Budget.dynamic, perTarget, maker.Evicted)
	r.static = newCache(&maker.Budget.static, 0, nil)
	r.memo.clear()
	r.compiled = make([]compiled[D, S], len(config.statics))
	for i, s := range config.statics {
		d := maker.Compile(&s.settings)
		r.compiled[i] = compiled[D, S]{d, maker.Start(d), s.settings.Demands()}
	}
	return r
}

// Close gives back all that the router keeps, for its configuration is no longer
// in force. Requests under way keep what they have; there must be no others.
func (r *Router[D, S]) Close() {
	r.closed = true
	r.dynamic.clear(ConfigChange)
	r.static.clear(ConfigChange)
	r.memo.clear()
}

// Len returns how many entries and how many different definitions are cached.
func (r *Router[D, S]) Len() (entries, definitions int) {
	return r.dynamic.count, len(r.dynamic.definitions)
}

// Sweep drops what has been idle for 15 minutes. Call it at least once a
// minute.
func (r *Router[D, S]) Sweep(now time.Duration) {
	r.dynamic.sweep(now)
	r.static.sweep(now)
}

// Drop forgets exactly what is cached for a target and a canonical form; if
// there is nothing, nothing happens.
func (r *Router[D, S]) Drop(routingKey, model, form string) {
	r.key = appendTarget(r.key[:0], Query{RoutingKey: routingKey, Model: model})
	r.dynamic.drop(string(r.key), form)
}

// Resolve returns the definition for a request, before any endpoint is looked
// at. What it builds is not in the cache before Settle. The strings of q are
// copied where they are kept.
func (r *Router[D, S]) Resolve(q Query, now time.Duration) (Choice[D, S], *Rejection) {
	if q.Lines > 1 {
		return Choice[D, S]{}, multipleLines()
	}
	r.key = appendTarget(r.key[:0], q)
	target := len(r.key)
	if q.Lines == 0 {
		return r.configured(r.config.entry(q.Model).own, target, now), nil
	}
	if len(q.Value) <= MaxBytes {
		r.key = append(r.key, q.Value...)
		if m, found := r.memo.find(r.key); found {
			if c, ok := r.recall(m, target, now); ok {
				return c, nil
			}
		}
	}
	return r.read(q, target, now)
}

// appendTarget appends the target so that no two targets, nor a target and
// another's beginning, are alike.
func appendTarget(dst []byte, q Query) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, q.Group)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(q.RoutingKey)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(q.Model)))
	return append(append(dst, q.RoutingKey...), q.Model...)
}

// recall answers from the memo, unless its entry has left the cache.
func (r *Router[D, S]) recall(m memoized[D, S], target int, now time.Duration) (Choice[D, S], bool) {
	if m.entry == nil {
		c := r.configured(m.base, target, now)
		c.Canonical, c.Requested = c.Algorithm, m.requested
		return c, true
	}
	if !r.dynamic.use(m.entry, now) {
		return Choice[D, S]{}, false
	}
	return r.chosen(m.entry, Hit, m.requested), true
}

// read takes an expression apart and answers from the cache or builds.
func (r *Router[D, S]) read(q Query, target int, now time.Duration) (Choice[D, S], *Rejection) {
	if len(q.Value) <= MaxBytes {
		q.Value = strings.Clone(q.Value)
	}
	if rejection := r.work.resolve(r.config, q.Model, q.Value); rejection != nil {
		return Choice[D, S]{}, rejection
	}
	requested := r.work.expression.method
	if r.work.given == 0 {
		r.memo.store(r.key, memoized[D, S]{base: r.work.base, requested: requested})
		c := r.configured(r.work.base, target, now)
		c.Canonical, c.Requested = c.Algorithm, requested
		return c, nil
	}
	form := r.work.form()
	if e := r.dynamic.find(r.key[:target], form, now); e != nil {
		r.memo.store(r.key, memoized[D, S]{entry: e, requested: requested})
		return r.chosen(e, Hit, requested), nil
	}
	return r.chosen(r.build(r.key[:target], form), Miss, requested), nil
}

// build makes an entry of what was just resolved, outside the cache.
func (r *Router[D, S]) build(target, form []byte) *entryOf[D, S] {
	base := r.work.base
	def := r.dynamic.definition(base.index, form, func() D { return r.maker.Compile(&r.work.settings) })
	return &entryOf[D, S]{
		target: string(target), form: def.form, base: base, def: def,
		demands: r.work.settings.Demands(), instance: r.maker.Start(def.definition),
	}
}

func (r *Router[D, S]) chosen(e *entryOf[D, S], result Result, requested string) Choice[D, S] {
	return Choice[D, S]{
		Definition: e.def.definition, Instance: e.instance, Algorithm: e.base.settings.algorithm.name,
		Base: e.base.base, Canonical: e.form, Requested: requested, Demands: e.demands,
		Result: result, entry: e,
	}
}

// configured returns a configured definition, with the target's instance if it
// has state.
func (r *Router[D, S]) configured(s *Static, target int, now time.Duration) Choice[D, S] {
	d := &r.compiled[s.index]
	c := Choice[D, S]{
		Definition: d.definition, Instance: d.instance, Algorithm: s.settings.algorithm.name,
		Base: s.base, Demands: d.demands,
	}
	if !s.settings.algorithm.stateful {
		return c
	}
	c.entry = r.static.find(r.key[:target], s.form, now)
	if c.entry == nil {
		def := r.static.definition(s.index, s.form, func() D { return d.definition })
		c.entry = &entryOf[D, S]{
			target: string(r.key[:target]), form: s.base, base: s, def: def,
			instance: r.maker.Start(d.definition),
		}
	}
	c.Instance = c.entry.instance
	return c
}

// Settle ends the look-up of a request once its first snapshot of endpoints is
// there: what Resolve built is kept if there is any endpoint, and only then.
// Further calls change nothing.
func (r *Router[D, S]) Settle(c *Choice[D, S], endpoints int, now time.Duration) {
	if c.entry == nil || c.entry.state != fresh {
		return
	}
	into := r.dynamic
	if c.Result == Uncached {
		into = r.static
	} else if endpoints == 0 {
		c.Result = Temporary
	}
	if endpoints == 0 || r.closed {
		return
	}
	kept := into.insert(c.entry, now)
	if kept != c.entry && c.Result == Miss {
		c.Result = Hit
	}
	c.entry, c.Definition, c.Instance = kept, kept.def.definition, kept.instance
}
