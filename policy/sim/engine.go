// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"

	"github.com/kvsteer/kvsteer/policy/load"
)

// Model says how engines behave.
type Model struct {
	CacheBlocks int     // LRU blocks of an engine
	Prefill     float64 // tokens/s
	Decode      float64 // tokens/s of one request
	MinCompute  int     // tokens that are computed even where all is cached
	// HeadsFirst makes caches age a prompt's blocks first to last, so that heads
	// are evicted before their tails. Engines do the opposite; it is for
	// comparison with other simulators, which do it this way.
	HeadsFirst bool
	// Slowdown is the share of an engine's pace that each running request
	// takes, of prefill and decode alike; 0 in the simple model.
	Slowdown float64
	// HoldBlocks makes running requests hold prompt and output out of the cache.
	HoldBlocks bool
	// SlowFirst makes engine 0 run at this share of the others' pace; 0 = 1.
	SlowFirst float64
}

// SimpleModel is an engine that running requests neither slow nor fill.
func SimpleModel() Model {
	return Model{CacheBlocks: 1000, Prefill: 8000, Decode: 40, MinCompute: 32}
}

// HardModel adds both, and makes one engine half as fast as the others.
func HardModel() Model {
	m := SimpleModel()
	m.Slowdown, m.HoldBlocks, m.SlowFirst = 0.03, true, 0.5
	return m
}

// job is a request on an engine.
type job struct {
	r       *Request
	gateway int
	engine  int
	sent    float64 // when the gateway picked
	cached  int     // tokens found in the cache
	work    float64 // tokens to compute
	first   float64 // time of the first token
	end     float64 // time of the last
	flight  load.Flight
}

// Engine computes prompts first come first served. As prompts are served in
// their order, what a prompt will find in the cache is known when it arrives.
type Engine struct {
	model    Model
	pace     float64 // share of the model's pace
	cache    *lru
	waiting  []*job
	active   *job // whose prompt is being computed
	finish   float64
	queued   float64 // tokens of those that wait
	running  decoding
	held     int     // blocks that active and running requests hold
	computed float64 // tokens since the start
	down     bool
}

func newEngine(m Model, index int) *Engine {
	e := &Engine{model: m, pace: 1, cache: newLRU(m.CacheBlocks, m.HeadsFirst)}
	if index == 0 && m.SlowFirst > 0 {
		e.pace = m.SlowFirst
	}
	return e
}

// slowed is the engine's present share of the model's pace. A prefill and a
// decode keep the pace of their start.
func (e *Engine) slowed() float64 {
	return e.pace / (1 + e.model.Slowdown*float64(len(e.running)))
}

// uncached is the tokens of r that e would have to compute.
func (e *Engine) uncached(r *Request) int {
	return max(r.Input-e.cache.match(r.Blocks)*BlockTokens, e.model.MinCompute)
}

// enqueue takes a request.
func (e *Engine) enqueue(j *job, now float64) {
	uncached := e.uncached(j.r)
	j.work = float64(uncached)
	j.cached = max(j.r.Input-uncached, 0)
	e.cache.use(j.r.Blocks)
	e.computed += j.work
	e.queued += j.work
	e.waiting = append(e.waiting, j)
	if e.active == nil {
		e.begin(now)
	}
}

// begin starts the prefill of the first that waits.
func (e *Engine) begin(now float64) {
	if len(e.waiting) == 0 {
		return
	}
	j := e.waiting[0]
	e.waiting = e.waiting[1:]
	e.queued -= j.work
	e.hold(blocksOf(j.r))
	e.active = j
	e.finish = now + j.work/(e.model.Prefill*e.slowed())
}

// hold changes the blocks that requests hold by n.
func (e *Engine) hold(n int) {
	e.held += n
	if e.model.HoldBlocks {
		e.cache.reserve(n)
	}
}

// blocksOf is the blocks of a request's prompt and answer.
func blocksOf(r *Request) int {
	return (r.Input + r.Output + BlockTokens - 1) / BlockTokens
}

// complete ends the active prefill: its first token is out and it decodes.
func (e *Engine) complete() *job {
	j := e.active
	j.first = e.finish
	j.end = j.first + float64(j.r.Output)/(e.model.Decode*e.slowed())
	heap.Push(&e.running, decode{job: j, end: j.end})
	e.active = nil
	e.begin(j.first)
	return j
}

// retire ends the decode that is due first.
func (e *Engine) retire() *job {
	j := heap.Pop(&e.running).(decode).job
	e.hold(-blocksOf(j.r))
	return j
}

// queue is the tokens of the prompts that are not done. A prompt counts whole
// until its first token, which is all that anyone outside an engine can see.
func (e *Engine) queue() float64 {
	if e.active == nil {
		return 0
	}
	return e.queued + e.active.work
}

// requests is the number of requests that wait, are computed or decode.
func (e *Engine) requests() int {
	n := len(e.waiting) + len(e.running)
	if e.active != nil {
		n++
	}
	return n
}

// kvUse is the share of the cache that requests hold.
func (e *Engine) kvUse() float64 {
	if e.model.CacheBlocks == 0 {
		return 0
	}
	return min(float64(e.held)/float64(e.model.CacheBlocks), 1)
}

// decode is a running request in the order of their ends.
type decode struct {
	job *job
	end float64
}

type decoding []decode

func (d decoding) Len() int           { return len(d) }
func (d decoding) Less(i, j int) bool { return d[i].end < d[j].end }
func (d decoding) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *decoding) Push(x any)        { *d = append(*d, x.(decode)) }
func (d *decoding) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
