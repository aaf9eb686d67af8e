// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"time"
)

// lease is the right to collect, kept in shared data so that one collector
// works at a time, wherever it lives:
//
//	bootstrap collector   takes it from any worker, and from another one that is silent
//	worker on standby     takes it from a holder that is silent, once it has served a request
//
// The VMs that Envoy makes on its main thread only to try a configuration
// serve no request, so they never stand by. A holder whose VM is gone is silent
// after leaseSilent; everyone else finds out within a leaseBeat. Two that take a
// free lease at once both work until the next beat, when the one that was
// overwritten sees the other's name and steps back: that costs a few requests
// to engines and harms nothing.
type lease struct {
	key  string
	id   uint64
	rank leaseRank
	held bool
	next time.Duration // of the wall clock
}

// leaseRank orders those who want the lease.
type leaseRank uint8

const (
	standby leaseRank = iota
	bootstrap
)

const (
	leaseKey    = "lease" // under the scope
	leaseBeat   = 200 * time.Millisecond
	leaseSilent = time.Second
	leaseSize   = 17
)

// step renews the lease, takes it or watches its holder, at most once in a
// leaseBeat, and reports whether it is held. A lease from the future (the wall
// clock was set back) counts as silent.
func (l *lease) step(h host, wall time.Duration) bool {
	if until := l.next - wall; until > 0 && until <= leaseBeat {
		return l.held
	}
	l.next = wall + leaseBeat
	value, cas, ok := h.sharedData(l.key)
	if !ok {
		cas = 0
	}
	l.held = false
	if len(value) == leaseSize {
		id, rank := binary.LittleEndian.Uint64(value[1:]), leaseRank(value[0])
		age := wall - time.Duration(binary.LittleEndian.Uint64(value[9:]))
		if id != l.id && rank >= l.rank && age < leaseSilent && age > -leaseSilent {
			return false
		}
	}
	l.held = h.setSharedData(l.key, l.encode(wall), cas)
	return l.held
}

// leave gives the lease up, so that another need not wait for the silence.
func (l *lease) leave(h host) {
	if l.held {
		h.setSharedData(l.key, nil, 0)
		l.held = false
	}
}

func (l *lease) encode(wall time.Duration) []byte {
	b := append(make([]byte, 0, leaseSize), byte(l.rank))
	b = binary.LittleEndian.AppendUint64(b, l.id)
	return binary.LittleEndian.AppendUint64(b, uint64(wall))
}
