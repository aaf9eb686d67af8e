// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// handPool has endpoints that compute 1,000 tokens/s, at four bytes a token.
func handPool(t *testing.T, gateways, endpoints int, a PrefixAware) *Pool {
	list := specs(endpoints)
	for i := range list {
		list[i].Rate = 1000
	}
	return newTestPool(t, Settings{Gateways: gateways, BytesPerToken: 4}, a, list)
}

// handPrompt is a prompt of 10 blocks of 1,000 bytes whose first ones are
// those of the conversation.
func handPrompt(conversation uint64) *Request {
	r := &Request{
		Now: time.Minute, TagKnown: true, LengthKnown: true, Complete: true, HeadKnown: true, KeyKnown: true,
		Length: 10_000, Key: conversation,
	}
	for k := range 10 {
		r.Hashes = append(r.Hashes, conversation<<8|uint64(k+1))
		r.Ends = append(r.Ends, uint32(k+1)*1000)
	}
	return r
}

// holds makes e hold the first blocks of r.
func holds(p *Pool, e *load.Endpoint, r *Request, blocks int) {
	part := *r
	part.Now = 30 * time.Second
	part.Hashes, part.Ends = r.Hashes[:blocks], r.Ends[:blocks]
	p.Learn(e, &part, 0)
}

// TestQueueAgainstCache: with a price of 2 a warm endpoint that has 2,000 of
// 10,000 bytes to compute costs 2 · 500/1,000 = 1 s and its queue, a cold one
// 2 · 2,500/1,000 = 5 s; with a price of 4, for several gateways, twice that.
func TestQueueAgainstCache(t *testing.T) {
	for _, test := range []struct {
		name     string
		gateways int
		queued   float64
		warm     bool
	}{
		{"idle", 1, 0, true},
		{"queue of 3.9 s", 1, 3900, true},
		{"queue of 4.1 s", 1, 4100, false},
		{"queue of 7.9 s, several gateways", 4, 7900, true},
		{"queue of 8.1 s, several gateways", 4, 8100, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := handPool(t, test.gateways, 2, PrefixAware{Price: 2, Several: 2, IgnorePrior: true})
			r := handPrompt(7)
			warm := p.View().Endpoints()[1]
			holds(p, warm, r, 8)
			warm.SetOthers(load.Share{Queued: test.queued})
			got := p.Pick(nil, r)
			if (got.First() == warm) != test.warm {
				t.Errorf("Pick = %s, want the warm %s: %v", got.First().ID, warm.ID, test.warm)
			}
			if got.First() == warm && (got.Match != 8000 || got.Uncached != 2000) {
				t.Errorf("match %d, uncached %d, want 8000 and 2000", got.Match, got.Uncached)
			}
		})
	}
}

// TestEvictionCosts: two endpoints hold nothing of the prompt and one of them
// is full of young blocks; evicting those costs up to Evict more.
func TestEvictionCosts(t *testing.T) {
	p := handPool(t, 1, 2, PrefixAware{Price: 2, Evict: 3, IgnorePrior: true})
	full, empty := p.View().Endpoints()[0], p.View().Endpoints()[1]
	for c := range uint64(500) {
		other := handPrompt(c + 100)
		other.Now = time.Minute - time.Second
		p.Learn(full, other, 0)
	}
	for c := range uint64(50) {
		if got := p.Pick(nil, handPrompt(c)).First(); got != empty {
			t.Fatalf("conversation %d pushes out what is a second old", c)
		}
	}
}

// TestKnownConversationStaysOnIdleFleet: its endpoint is the only one that was
// used, so what a later turn pushes out is the youngest of the fleet there. A
// prompt that has become four times as long stays all the same.
func TestKnownConversationStaysOnIdleFleet(t *testing.T) {
	for _, gateways := range []int{1, 4} {
		p := handPool(t, gateways, 4, DefaultPrefixAware())
		for _, e := range p.View().Endpoints() {
			r := handPrompt(7)
			holds(p, e, r, 3)
			if got := p.Pick(nil, r).First(); got != e {
				t.Errorf("%d gateways: a conversation of %s goes to %s", gateways, e.ID, got.ID)
			}
			p.Restarted(e)
		}
	}
}

// TestKnownConversationPaysForEviction: where all caches are full of what is
// young, moving a conversation pushes out as much more as it computes more: the
// queue of 6 s that it waits is between 4 s, the price without that, and 10.
func TestKnownConversationPaysForEviction(t *testing.T) {
	p := handPool(t, 1, 2, PrefixAware{Price: 2, Evict: 3, IgnorePrior: true})
	r := handPrompt(7)
	warm := p.View().Endpoints()[1]
	for _, e := range p.View().Endpoints() {
		for c := range uint64(500) {
			other := handPrompt(c + 100)
			other.Now = time.Minute - 2*time.Second
			p.Learn(e, other, 0)
		}
	}
	part := *r
	part.Now = time.Minute - time.Second
	part.Hashes, part.Ends = r.Hashes[:8], r.Ends[:8]
	p.Learn(warm, &part, 0)
	for queued, stays := range map[float64]bool{6000: true, 10_100: false} {
		warm.SetOthers(load.Share{Queued: queued})
		if got := p.Pick(nil, r).First(); (got == warm) != stays {
			t.Errorf("behind %v tokens Pick = %s, want the warm %s: %v", queued, got.ID, warm.ID, stays)
		}
	}
}

// TestToolsCountWithTheirMatch: under an equal tag a match holds the tools too.
func TestToolsCountWithTheirMatch(t *testing.T) {
	p := handPool(t, 1, 3, DefaultPrefixAware())
	r := handPrompt(7)
	r.Tag, r.TagBytes = 5, 60_000
	r.Length += r.TagBytes
	holds(p, p.View().Endpoints()[2], r, 6)
	got := p.Pick(nil, r)
	if got.First() != p.View().Endpoints()[2] || got.Match != 66_000 || got.Uncached != 4000 {
		t.Errorf("Pick = %s with match %d and uncached %d", got.First().ID, got.Match, got.Uncached)
	}
	r.Tag = 6
	if got := p.Pick(nil, r); got.Match != 0 {
		t.Errorf("match %d under another tag, want 0", got.Match)
	}
}

// TestPrimaryIsHopedFor: a later turn of a conversation that this gateway has
// not seen goes to its primary in spite of a queue, since with several gateways
// another one will have sent it there.
func TestPrimaryIsHopedFor(t *testing.T) {
	p := handPool(t, 4, 5, DefaultPrefixAware())
	r := handPrompt(7)
	primary := p.Pick(nil, r).First() // all are equal: the tie band names it
	r.Prev = 9000
	primary.SetOthers(load.Share{Queued: 2000})
	got := p.Pick(nil, r)
	if got.First() != primary {
		t.Fatalf("Pick = %s, want the primary %s", got.First().ID, primary.ID)
	}
	if got.Prior != 9000 || got.Match != 0 || got.Uncached != 10_000-int(priorSeveral*9000) {
		t.Errorf("prior %d, match %d, uncached %d", got.Prior, got.Match, got.Uncached)
	}
	r.Prev = 0 // a first turn: nobody can hold it
	if got := p.Pick(nil, r).First(); got == primary {
		t.Error("a first turn waits in the primary's queue for nothing")
	}
}

// TestRareHeadsStayTogether: conversations of one rare head share its primary,
// those of a head that is used all the time are spread. All endpoints hold the
// head, and their caches turn over in 20 s.
func TestRareHeadsStayTogether(t *testing.T) {
	for _, test := range []struct {
		name     string
		gap      time.Duration
		together bool
	}{
		{"one use in ten minutes", 10 * time.Minute, true},
		{"ten uses a second", 100 * time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := specs(8)
			for i := range list {
				list[i].Rate, list[i].Capacity = 1000, 100_000
			}
			p := newTestPool(t, Settings{BytesPerToken: 4}, DefaultPrefixAware(), list)
			head := handPrompt(1)
			head.Hashes, head.Ends = head.Hashes[:8], head.Ends[:8]
			for _, e := range p.View().Endpoints() {
				p.Learn(e, head, 0)
			}
			const arrivals = 2000
			end := head.Now + arrivals*test.gap
			filled := end - 20*time.Second
			for k := range time.Duration(arrivals) {
				at := end - (arrivals-1-k)*test.gap
				if at-test.gap <= filled && filled < at {
					fill(p, head, filled)
				}
				for range 40 { // the head is a small part of the traffic
					p.heads.arrive(0, at)
				}
				p.heads.arrive(head.Hashes[7], at)
			}
			seen := map[*load.Endpoint]bool{}
			for c := range uint64(40) {
				r := handPrompt(1)
				r.Now, r.Key = end, 1000+c
				r.Head, r.HeadHash = 8000, r.Hashes[7]
				r.Hashes[8], r.Hashes[9] = c<<20, c<<20|1
				seen[p.Pick(nil, r).First()] = true
			}
			if got := len(seen) == 1; got != test.together {
				t.Errorf("40 conversations went to %d endpoints", len(seen))
			}
		})
	}
}

// TestLumpsAreSpread: a rare head that makes up all of the traffic is not kept
// together, for it would leave the other endpoints idle.
func TestLumpsAreSpread(t *testing.T) {
	p := handPool(t, 1, 8, DefaultPrefixAware())
	seen := map[*load.Endpoint]bool{}
	for c := range uint64(40) {
		r := handPrompt(1)
		r.Now, r.Key = time.Duration(c)*time.Hour, 1000+c
		r.Head, r.HeadHash = 8000, r.Hashes[7]
		d := p.Pick(nil, r)
		var f load.Flight
		p.Start(&f, d.First(), &d, r, true)
		f.End()
		seen[d.First()] = true
	}
	if len(seen) < 4 {
		t.Errorf("40 conversations went to %d endpoints", len(seen))
	}
}

// fill fills the caches with prompts of other conversations, the head kept.
func fill(p *Pool, head *Request, now time.Duration) {
	head.Now = now
	for at, e := range p.View().Endpoints() {
		for c := range uint64(9) {
			other := handPrompt(100 + uint64(at)<<4 + c)
			other.Now = now
			p.Learn(e, other, 0)
		}
		p.Learn(e, head, 0)
	}
}
