// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// A loop is a run of segments, from the last of which a jump goes back to the
// first.
type loop struct {
	last int
	// entered says that the function gets to the others of its segments from
	// outside too: to go on after a call, or by a jump. The Go compiler likes
	// to begin with the condition, which it puts last.
	entered bool
	only    int // the one of them that it can get to; 0 if it may be any
}

// loops returns the function's loops by their first segments. Any two are
// disjoint or nested; jumps back that would make others stay as they are.
func (f *function) loops() []*loop {
	jumps := f.jumps()
	all := make([]*loop, len(f.segments))
	for _, j := range jumps {
		if j.to > j.from {
			continue
		}
		if all[j.to] == nil {
			all[j.to] = &loop{}
		}
		all[j.to].last = max(all[j.to].last, j.from)
	}
	for first, l := range all {
		for inner := first + 1; l != nil && inner <= l.last; inner++ {
			if all[inner] != nil && all[inner].last > l.last {
				all[inner] = nil
			}
		}
	}
	for first, l := range all {
		if l == nil {
			continue
		}
		entries := entriesWithin(jumps, all, first, l.last)
		suspends := first < l.last && f.suspendsWithin(first, l.last)
		l.entered = suspends || len(entries) > 0
		if !suspends && len(entries) == 1 {
			l.only = entries[0]
		}
	}
	return all
}

func (f *function) suspendsWithin(first, last int) bool {
	for s := first; s <= last; s++ {
		if f.suspends(s) {
			return true
		}
	}
	return false
}

// entriesWithin lists those of the segments first … last, but for the first,
// that a jump goes to from outside, or back but not to the start of a loop.
func entriesWithin(jumps []jump, loops []*loop, first, last int) (entries []int) {
	for _, j := range jumps {
		inside := first <= j.from && j.from <= last
		if first < j.to && j.to <= last && (!inside || j.to <= j.from && loops[j.to] == nil) {
			entries = append(entries, j.to)
		}
	}
	slices.Sort(entries)
	return slices.Compact(entries)
}
