// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
)

// standing is how far the answers of an endpoint are taken on trust. Asking
// Envoy who served and reading an answer's body are host calls, so both are
// done as often as the clock says and not as often as answers come, unless
// something has made the endpoint doubtful.
type standing struct {
	asked time.Duration // when it was last asked who served a request sent to it
	read  time.Duration // when the usage of one of its answers was last looked for
	doubt int           // answers whose usage is to be looked for at once
	cold  int           // answers in a row that had far less cached than placements told
}

const (
	askEvery  = 100 * time.Millisecond
	readEvery = time.Second

	// An answer is cold if no more than an eighth of a match of this size was
	// cached. Three in a row mean that the engine has started anew: a cache that
	// only overflows loses old prompts between others that it still has.
	coldLeast = 4 << 10
	coldShare = 8
	coldLimit = 3
)

// standing is that of e; nil where e has no place in the table.
func (p *pool) standing(e *load.Endpoint) *standing {
	if e.Index == load.None {
		return nil
	}
	for len(p.standings) <= e.Index {
		p.standings = append(p.standings, standing{})
	}
	return &p.standings[e.Index]
}

// asks reports whether to ask who served a request that was sent to e.
func (p *pool) asks(e *load.Endpoint, now time.Duration) bool {
	s := p.standing(e)
	if s == nil || e.Failing() {
		return true
	}
	due := s.asked == 0 || now-s.asked >= askEvery
	if due {
		s.asked = now
	}
	return due
}

// reads returns a reader for the usage in an answer of e, nil where it is not
// to be looked for.
func (p *pool) reads(e *load.Endpoint, sse bool, now time.Duration) *usageReader {
	s := p.standing(e)
	if s == nil || s.read != 0 && s.doubt == 0 && now-s.read < readEvery {
		return nil
	}
	u := p.vm.usages.borrow(sse)
	if u != nil {
		s.read, s.doubt = now, max(s.doubt-1, 0)
	}
	return u
}

// fail notes a failure of e. When it answers again it may have started anew.
func (p *pool) fail(e *load.Endpoint, now time.Duration) {
	p.vm.metrics.add(endpointFailures, 1)
	e.Fail(now)
	if s := p.standing(e); s != nil {
		s.doubt = coldLimit
	}
}

// judge learns from the usage that e reported for r, which it has computed by
// then, so it holds all of r whatever it held before.
func (p *pool) judge(e *load.Endpoint, d *policy.Decision, r *policy.Request, u policy.Usage) {
	// Engines that don't report what was cached may report 0 of it: they are
	// believed once one of the pool has reported more.
	p.reportsCached = p.reportsCached || u.CachedTokens > 0
	u.CachedKnown = u.CachedKnown && p.reportsCached
	p.Observe(e, d, r, u)
	if s := p.standing(e); s != nil && u.CachedKnown && e == d.First() && d.Match >= coldLeast {
		p.warmth(e, s, float64(u.CachedTokens)/float64(max(u.PromptTokens, 1))*float64(r.Length) > float64(d.Match/coldShare))
	}
	p.Learn(e, r, 0)
}

// warmth counts cold answers and forgets an endpoint's placements after a few.
func (p *pool) warmth(e *load.Endpoint, s *standing, warm bool) {
	if warm {
		s.cold = 0
		return
	}
	s.cold++
	s.doubt = max(s.doubt, coldLimit-s.cold)
	if s.cold < coldLimit {
		return
	}
	s.cold = 0
	p.vm.metrics.add(endpointRestarts, 1)
	p.Restarted(e)
	p.vm.exchange.restarted(e)
}
