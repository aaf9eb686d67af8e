// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// exchange makes the VMs of one Envoy act as one gateway: each tells the
// others what its streams have queued and which placements it has learnt,
// through shared data, from the tick.
//
//	<scope>/x1/<slot>            head: who, when, how many segments, sums per endpoint
//	<scope>/x1/<slot>/<0 … 7>    ring of segments: placements, sequence-numbered
//	<scope>/x1/handover[/<part>] newest placements of a VM, for one that starts (handover.go)
//
// A VM takes a slot with its first request: the VMs that Envoy makes on its
// main thread only to try a configuration never get one. Shared data can't be
// deleted, so a slot whose VM is gone serves the next one; slots are taken in
// order, and the first key that isn't there ends the list. The format's
// version is part of the key: versions of the module that don't understand
// each other don't see each other.
//
// Cost, in a tick with n other VMs: one read for each of them and one for each
// segment they have written, at most two writes, and at most roundMost
// placements taken in all, since each VM sends the n-th part of that.
type exchange struct {
	vm      *vm
	scope   scope
	serving bool   // a request has come: this VM is no canary
	filters int    // configurations alive in this VM
	self    uint64 // names this VM
	slot    int    // −1: none yet
	last    time.Duration
	told    time.Duration // when the head was written

	peers    []peer // by slot
	alive    int    // of them, those that aren't silent
	segments uint32 // written so far
	members  members
	pending  []news
	names    nameList // scratch of batches
	handover handover

	head, message []byte // scratch; head is also what was written last
}

const (
	maxPeers    = 128
	ring        = 8    // segments of each VM in shared data: eight ticks
	roundMost   = 2048 // placements that all VMs together pass on in a tick …
	segmentMost = 512  // … and one of them at most
	pendingMost = 4 * segmentMost

	beat        = time.Second      // a head is written at least this often
	silentAfter = 3 * time.Second  // a VM without a beat for so long is forgotten …
	goneAfter   = 10 * time.Second // … and its slot serves another
)

// peer is a slot and what is known of the VM in it.
type peer struct {
	headKey     string
	segmentKeys [ring]string
	name        uint64 // of the VM
	next        uint32 // segment to read next
	alive       bool
	wants       bool // it waits for a hand-over
}

func newExchange(v *vm) *exchange {
	return &exchange{vm: v, slot: -1, self: rand.Uint64()}
}

// configure sets the scope of keys. VMs of different scopes share nothing; the
// configuration that came last decides.
func (x *exchange) configure(s scope) {
	x.filters++
	if x.scope == s {
		return
	}
	x.leave()
	x.scope, x.peers, x.alive = s, nil, 0
}

// key is a key of the exchange. The format's version is part of it.
func (x *exchange) key(name string) string { return x.scope.key("x1/" + name) }

// serve notes that this VM serves requests.
func (x *exchange) serve() { x.serving = true }

// tick hears the others and tells them what has changed here.
func (x *exchange) tick(now time.Duration) {
	if !x.serving || now-x.last < tickPeriod/2 && x.last != 0 {
		return
	}
	x.last = now
	x.members.refresh(x.vm)
	x.hear()
	if x.slot < 0 && !x.claim() {
		return
	}
	x.tell(now)
	x.handover.tick(x)
}

// wall is the clock that all VMs share, in milliseconds.
func (x *exchange) wall() int64 { return (x.vm.epoch + x.vm.clock).Milliseconds() }

func (x *exchange) ago(wall int64) time.Duration {
	return time.Duration(x.wall()-wall) * time.Millisecond
}

// at returns what is known of a slot.
func (x *exchange) at(slot int) *peer {
	for len(x.peers) <= slot {
		p := peer{headKey: x.key(strconv.Itoa(len(x.peers)))}
		for i := range p.segmentKeys {
			p.segmentKeys[i] = p.headKey + "/" + strconv.Itoa(i)
		}
		x.peers = append(x.peers, p)
	}
	return &x.peers[slot]
}

// hear reads the heads of all slots and the segments that are new.
func (x *exchange) hear() {
	x.alive = 0
	x.members.forgetOthers()
	for slot := range maxPeers {
		p := x.at(slot)
		value, _, ok := x.vm.sharedData(p.headKey)
		if !ok {
			x.peers = x.peers[:slot]
			break
		}
		h, ok := parseHead(value)
		switch {
		case !ok:
			x.vm.metrics.add(sharedFaults, 1)
		case slot == x.slot:
			if h.vm != x.self {
				x.slot = -1 // this VM was silent for so long that another took the slot
			}
		default:
			x.meet(p, &h)
		}
	}
	x.members.publishOthers()
}

// meet takes what another VM's head says.
func (x *exchange) meet(p *peer, h *head) {
	if p.name != h.vm {
		p.name = h.vm
		p.next = h.segments - min(h.segments, ring)
	}
	p.alive, p.wants = x.ago(h.wall).Abs() < silentAfter, h.wants // one from the future: the clock was set back
	if !p.alive {
		return
	}
	x.alive++
	for name, share := range h.sums {
		x.members.addOthers(name, share)
	}
	if lag := h.segments - p.next; lag > ring {
		x.vm.metrics.add(sharedGaps, int(lag-ring))
		p.next = h.segments - ring
	}
	for ; p.next != h.segments; p.next++ {
		value, _, ok := x.vm.sharedData(p.segmentKeys[p.next%ring])
		s, valid := parseBatch(value)
		if !ok || !valid || s.vm != p.name || s.number != p.next {
			x.vm.metrics.add(sharedGaps, 1)
			continue
		}
		x.vm.metrics.add(sharedPlacementsReceived, x.take(&s, 0))
	}
}

// claim takes the first slot that nobody uses.
func (x *exchange) claim() bool {
	for slot := range maxPeers {
		p := x.at(slot)
		value, cas, ok := x.vm.sharedData(p.headKey)
		if !ok {
			cas = 0
		} else if h, valid := parseHead(value); valid && x.ago(h.wall).Abs() < goneAfter {
			continue
		}
		x.handover.ask(x)
		x.encodeHead(x.handover.waiting)
		if !x.vm.setSharedData(p.headKey, x.head, cas) {
			continue
		}
		// Two VMs may take a free slot at once. The later one has it; the other
		// finds out at its next tick.
		x.slot, x.told = slot, x.vm.clock
		return true
	}
	x.vm.metrics.add(sharedNoSlot, 1)
	return false
}

// tell writes a segment of what is pending and the head, where it has changed.
func (x *exchange) tell(now time.Duration) {
	p := x.at(x.slot)
	if x.alone() {
		x.pending = x.pending[:0]
	}
	if n := min(len(x.pending), x.most()); n > 0 {
		b := batch{vm: x.self, number: x.segments}
		x.message = b.append(x.message[:0], x.pending[:n], &x.names)
		x.vm.setSharedData(p.segmentKeys[x.segments%ring], x.message, 0)
		x.segments++
		x.vm.metrics.add(sharedPlacementsSent, n)
		x.pending = x.pending[:copy(x.pending, x.pending[n:])]
	}
	if x.encodeHead(x.handover.waiting) || now-x.told >= beat {
		x.vm.setSharedData(p.headKey, x.head, 0)
		x.told = now
	}
}

// most is how many placements this VM may pass on in a tick.
func (x *exchange) most() int {
	return min(roundMost/(x.alive+1), segmentMost)
}

// encodeHead makes the head of this moment, and reports whether more of it has
// changed than the time.
func (x *exchange) encodeHead(wants bool) bool {
	before := append(x.message[:0], x.head...)
	h := head{vm: x.self, wall: x.wall(), segments: x.segments, wants: wants}
	x.head = h.append(x.head[:0])
	for i := range x.members.list {
		m := &x.members.list[i]
		if share := (load.Share{Queued: float64(m.Queued()), InFlight: float64(m.InFlight())}); share != (load.Share{}) {
			x.head = appendSum(x.head, m.name, share)
		}
	}
	x.message = before
	return !bytes.Equal(before[min(len(before), headUnchanged):], x.head[headUnchanged:])
}

// leave gives the slot up, for the VM is about to end.
func (x *exchange) leave() {
	if x.slot < 0 {
		return
	}
	if x.handover.due(x) {
		x.handover.write(x)
	}
	h := head{vm: x.self, segments: x.segments}
	x.vm.setSharedData(x.at(x.slot).headKey, h.append(nil), 0)
	x.slot = -1
}

// done notes that a configuration of this VM is gone.
func (x *exchange) done() {
	if x.filters--; x.filters == 0 {
		x.leave()
	}
}
