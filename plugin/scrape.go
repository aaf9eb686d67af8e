// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	enginemetrics "github.com/kvsteer/kvsteer/policy/load/metrics"
)

// scraping is where an engine stands in the scrape plan, and what its last page
// said that only differences tell of.
//
// An engine is due once in each period, at a moment that its address gives: so
// a fleet's scrapes are spread over the period, whoever plans them. After a
// failure it is due after the period, then twice, four times as long, at most
// backOffMost or the period, whichever is longer, a fifth more or less at
// random. So the load of one that has started anew is soon known.
type scraping struct {
	phase float64       // share of the period at which it is due
	due   time.Duration // 0: at once
	fails int           // in a row
	asked time.Duration // when the scrape under way began; 0: there is none
	life  life
}

// life is what a page says of all that its engine has done so far.
type life struct {
	at      time.Duration // 0: nothing yet
	start   float64       // the latest start time seen, seconds since 1970; 0: not shown
	prompt  float64       // prompt tokens taken
	output  float64       // tokens generated
	hits    float64       // prompt tokens found in the cache
	waiting bool          // requests were waiting
}

const (
	backOffMost  = 8 * time.Second
	mostPage     = 4 << 20 // bytes of a metrics page; a large one has 0.1 MB
	startJitter  = 1       // seconds: start times of one server's processes may differ so much
	rateStep     = 0.3     // of the moving average of prefill rates
	callOverdue  = 3       // time-outs after which an answer no longer counts as under way
	acceptHeader = "text/plain;version=0.0.4"
)

// scrape is a request for a metrics page that is under way.
type scrape struct {
	fleet  *fleet
	engine *engine
}

// plan sets when e is next due.
func (s *scraping) plan(now, period time.Duration) {
	if s.fails == 0 {
		// The first moment of its phase that is at least half a period away.
		offset := time.Duration(s.phase * float64(period))
		earliest := now + period/2 - offset
		s.due = offset + (earliest+period-1)/period*period
		return
	}
	wait := min(period<<min(s.fails-1, 16), max(period, backOffMost))
	s.due = now + time.Duration(float64(wait)*(0.8+0.4*rand.Float64()))
}

// scrape asks the engines that are due, in turn, as long as not too many
// answers are under way.
func (c *collector) scrape(now time.Duration) {
	if !c.config.metrics.enabled {
		return
	}
	for i := 0; i < c.engines() && len(c.scrapes) < c.config.inFlight; i++ {
		f, e := c.nextEngine()
		if e.asked == 0 && now >= e.due {
			c.ask(f, e, now)
		}
	}
}

// engines is the number of engines of all fleets.
func (c *collector) engines() int {
	n := 0
	for _, f := range c.fleets {
		n += len(f.engines)
	}
	return n
}

// nextEngine is the engine whose turn it is to be looked at. There is one.
func (c *collector) nextEngine() (*fleet, *engine) {
	for {
		f := c.fleets[c.turn.fleet%len(c.fleets)]
		if c.turn.engine < len(f.engines) {
			c.turn.engine++
			return f, f.engines[c.turn.engine-1]
		}
		c.turn.fleet, c.turn.engine = (c.turn.fleet+1)%len(c.fleets), 0
	}
}

// ask fetches an engine's metrics page through a cluster that has the engine,
// which the destination header names.
func (c *collector) ask(f *fleet, e *engine, now time.Duration) {
	m := &c.config.metrics
	cluster := m.cluster
	if cluster == "" {
		cluster = f.cluster
	}
	destination := m.destination(e.address)
	authority := m.authority
	if authority == "" {
		authority = strings.TrimPrefix(destination, internalPrefix)
	}
	token, ok := c.call(cluster, [][2]string{
		{":method", "GET"}, {":path", m.path}, {":authority", authority},
		{destinationHeader, destination}, {"accept", acceptHeader},
	}, c.config.timeout)
	c.metrics.add(scrapes, 1)
	if !ok {
		c.scrapeFailed(e, now)
		return
	}
	e.asked = now
	c.scrapes[token] = scrape{f, e}
}

// destination is the address with the port of the metrics.
func (m *metricsConfig) destination(address string) string {
	if m.port == 0 {
		return address
	}
	if i := strings.LastIndexByte(address, ':'); i >= 0 {
		return address[:i+1] + strconv.Itoa(m.port)
	}
	return address
}

// takePage takes the answer of an engine.
func (c *collector) takePage(f *fleet, e *engine, size int) {
	now := c.time()
	e.asked = 0
	if e.gone {
		return
	}
	r, ok := c.readPage(size)
	if !ok {
		c.scrapeFailed(e, now)
		return
	}
	e.fails = 0
	e.plan(now, c.period(now))
	if e.life.restarted(r) {
		e.restarts++
	}
	e.take(r, now)
	f.fresh = true
}

func (c *collector) scrapeFailed(e *engine, now time.Duration) {
	c.metrics.add(scrapesFailed, 1)
	e.fails++
	e.plan(now, c.config.period)
}

// readPage parses the page of the answer whose callback runs. ok is false for an
// error page, one that is too long, and one that tells of no engine.
func (c *collector) readPage(size int) (*enginemetrics.Result, bool) {
	if !c.answered() || size > mostPage {
		return nil, false
	}
	c.metrics.add(scrapeBytes, size)
	c.pages.Reset()
	for at := 0; at < size; at += bodyWindow {
		c.pages.Write(c.body(callBody, at, min(bodyWindow, size-at)))
	}
	c.pages.Close()
	c.result = c.pages.Result()
	return &c.result, c.result.Known(enginemetrics.Waiting) || c.result.Known(enginemetrics.Running)
}

// take makes the page the engine's statistics.
func (e *engine) take(r *enginemetrics.Result, now time.Duration) {
	value := func(f enginemetrics.Field) float64 {
		v, _ := r.Value(f)
		return v
	}
	s := load.Stats{
		At:             now,
		Waiting:        value(enginemetrics.Waiting),
		Running:        value(enginemetrics.Running),
		MaxConcurrency: value(enginemetrics.MaxRunning),
		KVUse:          value(enginemetrics.KVUse),
		KVCapacity:     value(enginemetrics.KVTokens),
		KVUsed:         value(enginemetrics.KVUsed),
		InputRate:      e.stats.InputRate,
	}
	if s.KVUsed == 0 {
		s.KVUsed = s.KVUse * s.KVCapacity
	}
	s.KVFree = max(s.KVCapacity-s.KVUsed, 0)
	if rate := e.life.advance(r, now); rate > 0 {
		if s.InputRate > 0 {
			rate = s.InputRate + rateStep*(rate-s.InputRate)
		}
		s.InputRate = rate
	}
	e.stats = s
}

// restarted reports whether the engine has started anew since the last page:
// its start time is later than any seen, or, of an engine that shows none, a
// token counter has gone back. The latest is what counts, for a server of
// several processes may show the start of any of them.
func (l *life) restarted(r *enginemetrics.Result) bool {
	if l.at == 0 {
		return false
	}
	if start, known := r.Value(enginemetrics.StartTime); known && l.start > 0 {
		return start > l.start+startJitter
	}
	prompt, _ := r.Value(enginemetrics.PromptTokens)
	output, _ := r.Value(enginemetrics.GenerationTokens)
	return prompt < l.prompt || output < l.output
}

// advance takes the page's counters and returns the prompt tokens that the
// engine has computed in each second since the last page, if it was busy all
// the time, that is if requests waited at both ends; else 0, for then it could
// have done more.
func (l *life) advance(r *enginemetrics.Result, now time.Duration) (rate float64) {
	before := *l
	waiting, _ := r.Value(enginemetrics.Waiting)
	start, _ := r.Value(enginemetrics.StartTime)
	l.prompt, _ = r.Value(enginemetrics.PromptTokens)
	l.output, _ = r.Value(enginemetrics.GenerationTokens)
	l.hits, _ = r.Value(enginemetrics.PrefixHits)
	l.at, l.start, l.waiting = now, max(start, before.start), waiting > 0
	if before.at == 0 || !before.waiting || !l.waiting || now <= before.at {
		return 0
	}
	computed := (l.prompt - l.hits) - (before.prompt - before.hits)
	return max(computed, 0) / (now - before.at).Seconds()
}
