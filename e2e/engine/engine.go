// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Config describes one engine. The zero value of each field means its default.
type Config struct {
	Name   string // sent as x-engine with each answer; default: its address
	Listen string // default 127.0.0.1:0

	CacheTokens   int     // size of the KV cache; default 400,000
	BlockTokens   int     // tokens of a cache block; default 16
	PrefillRate   float64 // tokens per second; default 8,000
	DecodeRate    float64 // tokens per second of one request; default 40
	DefaultTokens int     // length of an answer whose request doesn't bound it; default 16
	EventTokens   int     // tokens in an event of a stream, after the first; default 1
	TimeScale     float64 // simulated seconds per real second; default 1

	Keep int // how many of the last requests are kept for Received; default none
}

func (c Config) withDefaults() Config {
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.CacheTokens = cmp.Or(c.CacheTokens, 400_000)
	c.BlockTokens = cmp.Or(c.BlockTokens, 16)
	c.PrefillRate = cmp.Or(c.PrefillRate, 8_000)
	c.DecodeRate = cmp.Or(c.DecodeRate, 40)
	c.DefaultTokens = cmp.Or(c.DefaultTokens, 16)
	c.EventTokens = cmp.Or(c.EventTokens, 1)
	c.TimeScale = cmp.Or(c.TimeScale, 1)
	return c
}

// An Engine is one running simulated engine. Its methods may be called at any
// time from any goroutine.
type Engine struct {
	config   Config
	listener listener

	mu       sync.Mutex
	cache    *cache
	last     chan struct{} // closed once the prefill queued last is through
	free     time.Time     // when the prefill that runs or ran last ends
	started  time.Time
	stats    Stats
	fault    Fault
	cleared  chan struct{} // closed when the fault ends
	received []Received
	script   Script
}

// Stats are an engine's sums since it started or restarted, and its state.
type Stats struct {
	Requests  int `json:"requests"`  // that reached the prompt's rendering
	Prompt    int `json:"prompt"`    // tokens of their prompts
	Cached    int `json:"cached"`    // of those, the tokens found in the cache
	Prefilled int `json:"prefilled"` // of those, the tokens computed
	Output    int `json:"output"`    // tokens decoded
	Waiting   int `json:"waiting"`   // requests before their prefill
	Running   int `json:"running"`   // requests in prefill or decode
}

// Start makes an engine and lets it listen.
func Start(c Config) (*Engine, error) {
	e := newEngine(c.withDefaults())
	if err := e.listener.open(e.config.Listen, e.handler()); err != nil {
		return nil, err
	}
	return e, nil
}

func newEngine(c Config) *Engine {
	through := make(chan struct{})
	close(through)
	return &Engine{
		config:  c,
		cache:   newCache(c.CacheTokens/c.BlockTokens, c.BlockTokens),
		last:    through,
		started: time.Now(),
		cleared: make(chan struct{}),
	}
}

// Name returns what the engine sends as x-engine.
func (e *Engine) Name() string { return cmp.Or(e.config.Name, e.Address()) }

// Address returns ip:port, the same for the engine's whole life.
func (e *Engine) Address() string { return e.listener.address }

// Stats returns the sums so far.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// Restart cuts all connections and starts over with an empty cache and sums
// of zero.
func (e *Engine) Restart() error {
	e.listener.close()
	e.mu.Lock()
	e.cache.clear()
	e.free = time.Time{}
	e.started = time.Now()
	e.stats = Stats{Waiting: e.stats.Waiting, Running: e.stats.Running} // those cut off still leave
	e.mu.Unlock()
	return e.listener.open(e.Address(), e.handler())
}

// Close cuts all connections and ends the engine.
func (e *Engine) Close() { e.listener.close() }

// A slot is a request's place in the queue for prefill.
type slot struct {
	arrived time.Time
	turn    <-chan struct{} // closed when everyone before is through
	through chan struct{}   // to be closed when this one is
}

func (e *Engine) enqueue() slot {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := slot{arrived: time.Now(), turn: e.last, through: make(chan struct{})}
	e.last = s.through
	e.stats.Requests++
	e.stats.Waiting++
	return s
}

// prefill waits for the job's turn and computes what the cache doesn't hold.
// It returns the tokens found in the cache. After a nil error the request
// counts as running until leave.
func (e *Engine) prefill(ctx context.Context, j *job) (cached int, err error) {
	s := e.enqueue()
	chain := e.cache.chain(j.namespace, j.prompt)
	select {
	case <-s.turn:
	case <-ctx.Done():
		go func() { <-s.turn; close(s.through) }()
		e.count(func(t *Stats) { t.Waiting-- })
		return 0, ctx.Err()
	}
	defer close(s.through)

	cached, end := e.begin(s, j, chain)
	if err := sleepUntil(ctx, end); err != nil {
		e.mu.Lock()
		e.free = time.Now()
		e.stats.Running--
		e.mu.Unlock()
		return 0, err
	}
	e.mu.Lock()
	e.cache.keep(chain)
	e.mu.Unlock()
	return cached, nil
}

// begin starts the prefill whose turn it is: it looks up the cache and says
// when the computing ends. The end counts from when the prefill before was due,
// not from when the timer fired, so that delays of timers don't add up.
func (e *Engine) begin(s slot, j *job, chain []uint64) (cached int, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tokens := j.tokens()
	cached = min(e.cache.match(chain)*e.config.BlockTokens, tokens-1) // the last token is always computed
	e.stats.Waiting--
	e.stats.Running++
	e.stats.Prompt += tokens
	e.stats.Cached += cached
	e.stats.Prefilled += tokens - cached
	start := s.arrived
	if e.free.After(start) {
		start = e.free
	}
	e.free = start.Add(e.take(tokens-cached, e.config.PrefillRate))
	return cached, e.free
}

// decode makes the job's answer and hands it to emit piece by piece as it
// comes; the first piece is one token and comes at once. Prompt and answer
// stay in the cache.
func (e *Engine) decode(ctx context.Context, j *job, emit func(text string) error) error {
	begun, step := time.Now(), e.decodeStep()
	words := newWords(j.prompt)
	answer := make([]byte, 0, j.maxTokens*tokenBytes)
	for size := 1; len(answer) < j.maxTokens*tokenBytes; size = e.config.EventTokens {
		size = min(size, j.maxTokens-len(answer)/tokenBytes)
		done := len(answer)/tokenBytes + size - 1 // the first token is prefill's
		if err := sleepUntil(ctx, begun.Add(time.Duration(done)*step)); err != nil {
			return err
		}
		from := len(answer)
		answer = words.appendTokens(answer, size)
		if err := emit(string(answer[from:])); err != nil {
			return err
		}
	}
	whole := append(j.prompt[:len(j.prompt):len(j.prompt)], answer...)
	chain := e.cache.chain(j.namespace, append(whole, turnEnd...))
	e.mu.Lock()
	e.cache.keep(chain)
	e.stats.Output += len(answer) / tokenBytes
	e.mu.Unlock()
	return nil
}

// leave ends a request whose prefill was done.
func (e *Engine) leave() { e.count(func(t *Stats) { t.Running-- }) }

func (e *Engine) count(change func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(&e.stats)
}

// decodeStep returns the real time between two tokens of an answer.
func (e *Engine) decodeStep() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.take(1, e.config.DecodeRate)
}

// take returns the real time that a number of tokens takes at a rate. The
// caller holds the lock.
func (e *Engine) take(tokens int, rate float64) time.Duration {
	seconds := float64(tokens) / rate / e.config.TimeScale
	if e.fault.Kind == Slow {
		seconds *= e.fault.Factor
	}
	return time.Duration(seconds * float64(time.Second))
}

func (j *job) tokens() int { return (len(j.prompt) + tokenBytes - 1) / tokenBytes }

func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
