// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"
)

// outlet hands snapshots to every VM: through a queue of its own for each on
// the roster, and in shared data for those that start later.
//
// Nobody empties the queue of a VM that is gone, and a queue can't be deleted.
// So nothing is sent to VMs that are silent, and what their queues still hold,
// at most what rosterSilent brings, is taken out.
type outlet struct {
	scope    scope
	roster   string // its key
	queues   map[uint64]uint32
	next     time.Duration // when to look at the roster again
	requests uint64        // of all VMs, when last looked at
	active   time.Duration // when requests last came
	message  []byte        // scratch
}

func (o *outlet) configure(s scope) {
	*o = outlet{scope: s, roster: s.key(rosterKey), queues: map[uint64]uint32{}, message: o.message, active: o.active}
}

// listen looks at the roster: who takes snapshots, and whether requests come.
func (o *outlet) listen(h host, wall, now time.Duration) {
	if now < o.next {
		return
	}
	o.next = now + leaseBeat
	value, _, _ := h.sharedData(o.roster)
	var ids []uint64
	requests := uint64(0)
	for r := range rows(value) {
		if !r.silent(wall) {
			ids = append(ids, r.id)
			requests += r.requests
		}
	}
	if requests != o.requests {
		o.requests, o.active = requests, now
	}
	o.forget(h, ids)
	for _, id := range ids {
		if _, known := o.queues[id]; !known {
			if q, ok := h.resolveQueue(o.scope.queueName(id)); ok {
				o.queues[id] = q
			}
		}
	}
}

// forget empties the queues of VMs that are gone.
func (o *outlet) forget(h host, alive []uint64) {
	for id, q := range o.queues {
		if slices.Contains(alive, id) {
			continue
		}
		for range queueMost {
			if _, ok := h.dequeue(q); !ok {
				break
			}
		}
		delete(o.queues, id)
	}
}

// queueMost bounds the work of emptying a queue.
const queueMost = 1024

// send hands a snapshot of a pool to everyone.
func (o *outlet) send(v *vm, cluster string, message []byte) {
	o.message = message
	v.setSharedData(o.scope.snapshotKey(cluster), message, 0)
	for id, q := range o.queues {
		if v.enqueue(q, message) {
			v.metrics.add(snapshotsSent, 1)
		} else {
			delete(o.queues, id)
		}
	}
	v.metrics.add(snapshotBytes, len(message))
}
