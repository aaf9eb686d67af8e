// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"time"
)

// roster is the list of VMs that take snapshots, one value in shared data. Each
// VM writes its own row twice a second; who writes leaves out the rows of VMs
// that are silent, so the list ends with the VMs.
//
//	row   id 8 · wall clock 8 · requests so far 8      24 bytes
//
// The id names the VM's queue. The requests tell the collector whether anybody
// needs what it gathers.
type roster struct {
	key   string
	value []byte // scratch
}

type row struct {
	id       uint64
	seen     time.Duration // by the wall clock
	requests uint64
}

const (
	rosterKey    = "roster" // under the scope
	rosterBeat   = 500 * time.Millisecond
	rosterSilent = 3 * time.Second
	rowSize      = 24
	mostRows     = 1024
)

// announce puts r into the list. Where another VM has written at the same time
// it reports false and is to be tried again.
func (o *roster) announce(h host, r row) bool {
	value, cas, ok := h.sharedData(o.key)
	if !ok {
		cas = 0
	}
	o.value = o.value[:0]
	for other := range rows(value) {
		if other.id != r.id && !other.silent(r.seen) && len(o.value) < mostRows*rowSize {
			o.value = other.append(o.value)
		}
	}
	o.value = r.append(o.value)
	return h.setSharedData(o.key, o.value, cas)
}

// silent reports whether the VM has not been heard of for long. A row from the
// future was written before the wall clock was set back.
func (r row) silent(wall time.Duration) bool {
	age := wall - r.seen
	return age > rosterSilent || age < -rosterSilent
}

func (r row) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.id)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.seen))
	return binary.LittleEndian.AppendUint64(b, r.requests)
}

// rows iterates over the rows of the list.
func rows(value []byte) func(yield func(row) bool) {
	return func(yield func(row) bool) {
		for ; len(value) >= rowSize; value = value[rowSize:] {
			r := row{
				id:       binary.LittleEndian.Uint64(value),
				seen:     time.Duration(binary.LittleEndian.Uint64(value[8:])),
				requests: binary.LittleEndian.Uint64(value[16:]),
			}
			if !yield(r) {
				return
			}
		}
	}
}
