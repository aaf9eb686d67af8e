// SPDX-License-Identifier: Apache-2.0

//go:build trap

package main

import (
	"strconv"
	"sync"
)

// Numbers of waiting requests that an engine in a test shows as a command to
// the collector that reads them, in a module built with the tag "trap". Those
// from trapWaiting up to freezeWaiting kill the VM, each number once; those
// from there on let it hold the lease and do nothing for good.
const (
	trapWaiting   = 1_000_000
	freezeWaiting = 2_000_000
)

var isFrozen bool

// frozen carries a command out and reports whether the collector is to rest.
func frozen(c *collector) bool {
	for _, f := range c.fleets {
		for _, e := range f.engines {
			if e.stats.Waiting >= trapWaiting {
				obey(c, int(e.stats.Waiting))
			}
		}
	}
	return isFrozen
}

func obey(c *collector, command int) {
	if command >= freezeWaiting {
		isFrozen = true
		return
	}
	key, text := c.scope.key("command"), strconv.Itoa(command)
	if done, _, _ := c.sharedData(key); string(done) != text {
		c.setSharedData(key, []byte(text), 0)
		new(sync.Mutex).Unlock() // a fatal error: recover doesn't catch it
	}
}
