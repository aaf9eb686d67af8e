// SPDX-License-Identifier: Apache-2.0

//go:build wasip1

package main

import "unsafe"

// gcPercent is how much a VM's heap may grow between two collections, in
// percent of what is alive. Requests leave no garbage once warm, so a low value
// costs nothing then, and keeps what is rare (a configuration, a flood of
// expressions never seen before) from doubling the memory for good: wasm
// memory never shrinks.
const gcPercent = 25

func init() { setGCPercent(gcPercent) }

// setGCPercent is runtime/debug's. That package brings os along, 0.1 MB of
// module.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) int32

// arenaSize holds one body window or any header map within Envoy's default
// limit of 60 KiB.
const arenaSize = bodyWindow + 8<<10

// arena is the memory the host copies its answers into. Each host call that
// returns bytes releases the ones before it, so one window's worth suffices
// and nothing becomes garbage. An answer that does not fit (a configuration, a
// scraped page) gets memory of its own, kept reachable until the release:
// between the host's allocation and its store no Go reference exists.
type arena struct {
	fixed [arenaSize]byte
	used  int
	large [][]byte
	given []byte // the last allocation
}

// memory serves proxy_on_memory_allocate.
var memory arena

// allocate returns size bytes, aligned to 8. Size 0 is legal and yields an
// address that must not be written to.
func (a *arena) allocate(size int) unsafe.Pointer {
	if size < 0 || size > arenaSize-a.used {
		a.given = make([]byte, max(size, 1))
		a.large = append(a.large, a.given)
	} else {
		a.given = a.fixed[a.used : a.used+size : arenaSize]
		a.used = min((a.used+size+7)&^7, arenaSize)
	}
	return unsafe.Pointer(unsafe.SliceData(a.given))
}

// last returns the first size bytes of the last allocation.
func (a *arena) last(size int) []byte {
	if size <= 0 || size > len(a.given) {
		return nil
	}
	return a.given[:size]
}

// release makes all of the arena free again.
func (a *arena) release() {
	clear(a.large)
	a.used, a.large, a.given = 0, a.large[:0], nil
}
