// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

// follower takes the collector's snapshots for the pools of one filter: through
// a queue of its own, and at its start from shared data. Between two requests
// a pool has all of a snapshot or nothing of it.
type follower struct {
	scope   scope
	roster  roster
	id      uint64
	queue   uint32
	deaf    bool          // nothing is known of a pool yet
	next    time.Duration // when to announce the queue again
	idle    bool          // no request has come since the last announcement
	told    uint64        // requests as last announced
	reader  snapshot.Reader
	entries []snapshot.Entry // scratch
	specs   []load.Spec      // scratch
}

// openQueue makes the queue and takes what is there already.
func (f *filter) openQueue() {
	w, s := &f.follower, f.config.scope
	*w = follower{scope: s, roster: roster{key: s.key(rosterKey)}, id: rand.Uint64()}
	w.queue, _ = f.registerQueue(s.queueName(w.id))
	f.catchUp()
}

// catchUp takes what others know of pools that this VM has heard nothing of, at
// its start and until its first requests find an endpoint.
func (f *filter) catchUp() {
	w := &f.follower
	w.deaf = false
	for _, p := range f.pools {
		if p.heard != 0 {
			continue
		}
		if b, _, ok := f.sharedData(w.scope.snapshotKey(p.cluster)); ok {
			f.take(b)
		}
		w.deaf = w.deaf || p.heard == 0
	}
}

// OnQueueReady takes the snapshots in the queue.
func (f *filter) OnQueueReady(queue uint32) {
	if queue == f.follower.queue {
		f.receive()
	}
}

// receive empties the queue.
func (f *filter) receive() {
	for {
		b, ok := f.dequeue(f.follower.queue)
		if !ok {
			return
		}
		f.take(b)
	}
}

// follow announces the queue from time to time, at once when requests come
// again after a time without, and empties it, should a notice have been lost.
func (f *filter) follow(now time.Duration) {
	w := &f.follower
	awake := w.idle && f.streams != w.told
	if w.queue == 0 || now < w.next && !awake {
		return
	}
	for _, p := range f.pools {
		if p.doubt(now) {
			f.metrics.add(poolsWithoutCollector, 1)
		}
	}
	w.idle = f.streams == w.told
	r := row{id: w.id, seen: f.epoch + now, requests: f.streams}
	if w.roster.announce(f.host, r) {
		w.next, w.told = now+rosterBeat, f.streams
	}
	f.receive()
}

// take applies a snapshot to the pool it is of.
func (f *filter) take(b []byte) {
	w := &f.follower
	if w.reader.Open(b) != nil {
		f.metrics.add(snapshotsRefused, 1)
		return
	}
	h := w.reader.Header()
	for _, p := range f.pools {
		if p.cluster == string(h.Pool) {
			f.metrics.add(snapshotsTaken, 1)
			now := f.time()
			w.apply(p, f.own(h.Taken, now), f.vm)
			return
		}
	}
}

// apply makes the open snapshot what p knows. taken is when it was taken.
func (w *follower) apply(p *pool, taken time.Duration, v *vm) {
	n := w.reader.Len()
	if cap(w.entries) < n {
		w.entries = make([]snapshot.Entry, n)
	}
	w.entries = w.entries[:n]
	for i := range w.entries {
		w.reader.Next(&w.entries[i], taken)
	}
	p.heard, p.blind = taken, false
	if !w.same(p.View().Endpoints()) {
		w.replace(p)
	}
	for i, e := range p.View().Endpoints() {
		s := &w.entries[i]
		if s.Restarts != p.restarts[i] {
			p.restarts[i] = s.Restarts
			p.Restarted(e)
			v.metrics.add(endpointRestarts, 1)
		}
		if s.Stats.At > e.Stats.At {
			p.View().Report(e, s.Stats)
		}
	}
}

// same reports whether the snapshot's endpoints are these, in all but their load.
func (w *follower) same(list []*load.Endpoint) bool {
	if len(list) != len(w.entries) {
		return false
	}
	for i, e := range list {
		s := &w.entries[i]
		if e.ID != string(s.ID) {
			return false
		}
		s.Spec.ID = e.ID
		if e.Spec != s.Spec {
			return false
		}
	}
	return true
}

// replace makes the snapshot's endpoints those of p. The collector lists each
// once and in order, as a view does; should one not, its endpoints are left.
func (w *follower) replace(p *pool) {
	before := map[string]uint32{}
	for i, e := range p.View().Endpoints() {
		before[e.ID] = p.restarts[i]
	}
	w.specs = w.specs[:0]
	for i := range w.entries {
		s := w.entries[i].Spec
		s.ID = string(w.entries[i].ID)
		w.specs = append(w.specs, s)
	}
	p.SetEndpoints(w.specs)
	p.restarts = p.restarts[:0]
	for i, e := range p.View().Endpoints() {
		seen, known := before[e.ID]
		if !known {
			seen = w.entries[i].Restarts
		}
		p.restarts = append(p.restarts, seen)
	}
}

// doubt makes every endpoint of a pool a candidate again where nothing has been
// heard of the collector for so long that what it said of their health is not
// worth more than a try.
func (p *pool) doubt(now time.Duration) bool {
	if p.heard == 0 || p.blind || now-p.heard < healthAge {
		return false
	}
	p.blind = true
	var specs []load.Spec
	for _, e := range p.View().Endpoints() {
		s := e.Spec
		s.Healthy, s.Draining = true, false
		specs = append(specs, s)
	}
	p.SetEndpoints(specs)
	return true
}
