// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// world is a random pool and the conversations it has served.
type world struct {
	*rand.Rand
	pool  *Pool
	heads int
	now   time.Duration
}

// newWorld makes a pool with differing capacities, rates, zones and loads.
func newWorld(tb testing.TB, seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 9)), now: time.Minute}
	list := specs(1 + w.IntN(30))
	for i := range list {
		list[i].Capacity = uint64(20_000 + w.IntN(400_000))
		if w.IntN(3) == 0 {
			list[i].Rate = 1000 + 10_000*w.Float64()
		}
		list[i].Far = w.IntN(4) == 0
		list[i].Healthy = w.IntN(10) > 0
		list[i].Weight = float64(1 + w.IntN(3))
	}
	w.pool = newTestPool(tb, Settings{Gateways: 1 + 3*w.IntN(2), Seed: seed}, DefaultPrefixAware(), list)
	w.heads = 1 + w.IntN(4)
	for range w.IntN(60) {
		w.now += time.Duration(w.IntN(2000)) * time.Millisecond
		r := w.prompt()
		e := w.endpoint()
		var f load.Flight
		w.pool.Start(&f, e, &Decision{Uncached: w.IntN(1 + r.Length)}, r, true)
		if w.IntN(3) > 0 {
			f.End()
		}
		w.pool.Learn(e, r, 0)
	}
	for _, e := range w.pool.View().Endpoints() {
		if w.IntN(2) == 0 {
			w.pool.View().Report(e, load.Stats{At: w.now - time.Second, Waiting: float64(w.IntN(3)), Running: float64(w.IntN(20)), KVUse: w.Float64()})
		}
	}
	w.pool.View().Tick(w.now)
	return w
}

func (w *world) endpoint() *load.Endpoint {
	list := w.pool.View().Endpoints()
	return list[w.IntN(len(list))]
}

// prompt is a whole prompt: a head of several conversations, then turns of one
// conversation, cut at a random length.
func (w *world) prompt() *Request {
	head, conversation := uint64(w.IntN(w.heads)), uint64(w.IntN(8))
	n := 4 + w.IntN(60)
	r := &Request{
		Now: w.now, Tag: head % 2, TagBytes: int(head) * 700, TagKnown: true, LengthKnown: true, Complete: true,
		HeadKnown: true, KeyKnown: true,
	}
	headBlocks := int(head) * 3
	end := uint32(0)
	for k := range n {
		hash := head<<32 | uint64(k)<<8
		if k >= headBlocks {
			hash |= 1<<16 | conversation
		}
		if k >= n-2 {
			hash = w.Uint64() // the turn that is asked
		}
		end += uint32(200 + 37*k%300)
		r.Hashes, r.Ends = append(r.Hashes, hash), append(r.Ends, end)
		if k+1 == headBlocks {
			r.Head, r.HeadHash = int(end), hash
		}
		if k == headBlocks {
			r.Key = hash
		}
		if k == n-3 && w.IntN(3) > 0 && k > headBlocks {
			r.Prev = int(end)
		}
	}
	r.Length = int(end) + 100 + r.TagBytes
	return r
}

// cut is what is known of a prompt after its first blocks.
func (w *world) cut(whole *Request, blocks int, lengthKnown bool) *Request {
	r := *whole
	r.Complete, r.LengthKnown = false, lengthKnown
	r.Hashes, r.Ends = whole.Hashes[:blocks], whole.Ends[:blocks]
	end := 0
	if blocks > 0 {
		end = int(whole.Ends[blocks-1])
	}
	if !lengthKnown {
		r.Length = end + r.TagBytes
	}
	r.HeadKnown = end >= whole.Head
	r.KeyKnown = r.HeadKnown && end > whole.Head
	if r.Prev > end { // an earlier assistant turn is known instead
		r.Prev = w.IntN(end + 1)
	}
	return &r
}

// TestEarlyEqualsWhole holds the promise of Early: for any body, placements
// and loads, a first endpoint that is final is the one that the whole body
// chooses.
func TestEarlyEqualsWhole(t *testing.T) {
	for _, lengthKnown := range []bool{true, false} {
		t.Run(fmt.Sprintf("length known %v", lengthKnown), func(t *testing.T) {
			final, before := 0, 0
			for seed := range uint64(700) {
				w := newWorld(t, seed)
				for range 10 {
					whole := w.prompt()
					blocks := w.IntN(len(whole.Hashes) + 1)
					early, ok := w.pool.Early(nil, w.cut(whole, blocks, lengthKnown))
					if !ok {
						continue
					}
					final++
					if blocks < len(whole.Hashes) {
						before++
					}
					want := w.pool.Pick(nil, whole)
					if early.First() != want.First() {
						t.Fatalf("seed %d: after %d of %d blocks final %v, with all of them %v",
							seed, blocks, len(whole.Hashes), early.First().ID, want.First().ID)
					}
				}
			}
			if before < 500 {
				t.Errorf("only %d of %d final choices came before the end: too few to show anything", before, final)
			}
			t.Logf("%d final, %d of them before the last block", final, before)
		})
	}
}

// TestEarlyWaits names what must be known before a choice can be final.
func TestEarlyWaits(t *testing.T) {
	w := newWorld(t, 4)
	whole := w.prompt()
	n := len(whole.Hashes)
	if _, ok := w.pool.Early(nil, w.cut(whole, n, true)); !ok {
		t.Fatal("Early is not final where all is known: nothing is shown")
	}
	tests := []struct {
		name   string
		change func(*Request)
	}{
		{"tag incomplete", func(r *Request) { r.TagKnown = false }},
		{"head unknown", func(r *Request) { r.HeadKnown = false }},
		{"conversation key unknown", func(r *Request) { r.KeyKnown = false }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := w.cut(whole, n, true)
			test.change(r)
			if d, ok := w.pool.Early(nil, r); ok {
				t.Errorf("Early = %v, final; want to wait", d.First().ID)
			}
		})
	}
}

// TestEarlyNeedsNoBody: an algorithm that looks at no prompt is final at once.
func TestEarlyNeedsNoBody(t *testing.T) {
	for _, d := range []Definition{LeastLoad{}, RoundRobin{}, Random{}} {
		p := newTestPool(t, Settings{}, d, specs(3))
		if _, ok := p.Early(nil, &Request{Now: time.Second}); !ok {
			t.Errorf("%s: Early is not final for an empty request", d.Name())
		}
	}
	p := newTestPool(t, Settings{}, DefaultTopology(), specs(3))
	if _, ok := p.Early(nil, &Request{Now: time.Second}); ok {
		t.Error("topology: Early is final without a conversation key")
	}
	if _, ok := p.Early(nil, &Request{Now: time.Second, Key: 5, KeyKnown: true}); !ok {
		t.Error("topology: Early is not final with the conversation key")
	}
}
