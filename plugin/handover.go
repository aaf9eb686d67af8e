// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/kvsteer/kvsteer/policy/table"
)

// handover gives a VM that starts what those before it have learnt: after a
// module update, whose VMs are new, and after a trap, which Envoy answers with
// a new VM. Who starts says so in its head, the running VM in the lowest slot
// writes its newest placements, and who starts reads them a few parts a tick. A
// VM that ends writes them unasked.
//
// Parts are oldest first, since placing in the order of time costs a step each
// and against it a step for every placement in between.
type handover struct {
	waiting bool          // the head says that a hand-over is wanted
	since   int64         // when it was asked for, wall clock
	until   time.Duration // when waiting ends
	written int64         // when this VM wrote one, wall clock
	left    int           // parts still to be read, from the last to the first
	vm      uint64        // who wrote them …
	wall    int64         // … and when
}

const (
	handoverPartRecords  = 2400            // to fit the window of a read
	handoverMaxParts     = 17              // 1 MiB in all
	handoverPartsPerTick = 2               // read
	handoverPatience     = 2 * time.Second // how long one that was asked for is waited for
	handoverFresh        = 5 * time.Second // younger than this it needs no newer one
	handoverOld          = 5 * time.Minute // older than this it is of no use
	handoverPause        = time.Second     // between two that one VM writes

	handoverHeadSize = 21
)

func (x *exchange) handoverKey() string { return x.key("handover") }

func (x *exchange) partKey(i int) string { return x.key("handover/" + strconv.Itoa(i)) }

// ask looks for a hand-over when the VM starts, and asks for one where there
// is none that is fresh.
func (h *handover) ask(x *exchange) {
	if h.begin(x, handoverFresh) || h.waiting {
		return
	}
	if x.alive == 0 {
		h.begin(x, handoverOld)
		return
	}
	h.waiting, h.since, h.until = true, x.wall(), x.vm.clock+handoverPatience
}

// tick answers who asks, and takes what has been asked for.
func (h *handover) tick(x *exchange) {
	if h.waiting {
		h.waiting = !h.begin(x, x.ago(h.since)) && x.vm.clock < h.until
	}
	for range handoverPartsPerTick {
		if h.left > 0 {
			h.left--
			h.take(x, h.left)
		}
	}
	if x.wanted() && x.ago(h.written) >= handoverPause {
		h.write(x)
	}
}

// wanted reports whether it is for this VM to answer one that waits for a
// hand-over.
func (x *exchange) wanted() bool {
	if x.handover.waiting || x.handover.left > 0 {
		return false
	}
	asked := false
	for slot := range x.peers {
		p := &x.peers[slot]
		asked = asked || p.alive && p.wants
		if p.alive && !p.wants && slot < x.slot {
			return false
		}
	}
	return asked
}

// begin starts reading the hand-over there is if it is at most so old.
func (h *handover) begin(x *exchange, age time.Duration) bool {
	wall, vm, parts, ok := h.find(x)
	if !ok || x.ago(wall) > age {
		return false
	}
	h.left, h.vm, h.wall = parts, vm, wall
	x.vm.metrics.add(handoversRead, 1)
	return true
}

// find reads the head of the hand-over: version 1 · wall 8 · vm 8 · parts 4.
func (h *handover) find(x *exchange) (wall int64, vm uint64, parts int, ok bool) {
	b, _, ok := x.vm.sharedData(x.handoverKey())
	if !ok || len(b) != handoverHeadSize || b[0] != wireVersion {
		return 0, 0, 0, false
	}
	parts = int(binary.LittleEndian.Uint32(b[17:]))
	return int64(binary.LittleEndian.Uint64(b[1:])), binary.LittleEndian.Uint64(b[9:]), parts, parts <= handoverMaxParts
}

// take reads one part.
func (h *handover) take(x *exchange, i int) {
	value, _, ok := x.vm.sharedData(x.partKey(i))
	b, valid := parseBatch(value)
	if !ok || !valid || b.vm != h.vm || int(b.number) != i {
		x.vm.metrics.add(sharedGaps, 1)
		return
	}
	x.vm.metrics.add(handoverPlacements, x.take(&b, max(x.ago(h.wall), 0)))
}

// due reports whether a VM that ends should leave a hand-over: another may
// have done so at the same moment.
func (h *handover) due(x *exchange) bool {
	wall, _, _, ok := h.find(x)
	return !ok || x.ago(wall) >= handoverPause
}

// write hands over the newest placements.
func (h *handover) write(x *exchange) {
	h.written = x.wall()
	list := make([]news, 0, handoverPartRecords)
	parts := 0
	flush := func() {
		slices.Reverse(list)
		b := batch{vm: x.self, number: uint32(parts)}
		x.message = b.append(x.message[:0], list, &x.names)
		x.vm.setSharedData(x.partKey(parts), x.message, 0)
		list, parts = list[:0], parts+1
	}
	x.members.refresh(x.vm)
	x.vm.table.Newest(x.vm.clock, func(e int, p table.Placement) bool {
		if name := x.members.name(e); name != 0 {
			kind := made
			if p.Owner {
				kind = owned
			}
			list = append(list, news{p.Hash, p.Tag, p.Size, kind, name, p.Age})
		}
		if len(list) == handoverPartRecords {
			flush()
		}
		return parts < handoverMaxParts
	})
	if len(list) > 0 {
		flush()
	}
	b := binary.LittleEndian.AppendUint64([]byte{wireVersion}, uint64(h.written))
	b = binary.LittleEndian.AppendUint64(b, x.self)
	b = binary.LittleEndian.AppendUint32(b, uint32(parts))
	x.vm.setSharedData(x.handoverKey(), b, 0)
	x.vm.metrics.add(handoversWritten, 1)
}
