// SPDX-License-Identifier: Apache-2.0

package main

// A loop is a run of segments that jumps enter at the first only, and which they
// go back to from the last.
type loop struct {
	last int
	// entered says that the table leads to its other segments too: to go on
	// after a call, or by jumps that stay as they are.
	entered bool
}

// loops returns the function's loops by their first segments. Any two are
// disjoint or nested. A jump back that makes no loop stays as it is.
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
		if l != nil && entersWithin(jumps, first, l.last) {
			all[first] = nil
		}
	}
	for first, l := range all {
		for inner := first + 1; l != nil && inner <= l.last; inner++ {
			if all[inner] != nil && all[inner].last > l.last {
				all[inner] = nil
			}
		}
	}
	for first, l := range all {
		if l != nil {
			l.entered = f.suspendsWithin(first, l.last) || returnsWithin(jumps, all, first, l.last)
		}
	}
	return all
}

// entersWithin reports whether a jump from outside goes to one of the segments
// first … last, but for the first.
func entersWithin(jumps []jump, first, last int) bool {
	for _, j := range jumps {
		if first < j.to && j.to <= last && (j.from < first || j.from > last) {
			return true
		}
	}
	return false
}

func (f *function) suspendsWithin(first, last int) bool {
	for s := first; s <= last; s++ {
		if f.suspends(s) {
			return true
		}
	}
	return false
}

// returnsWithin reports whether a jump back, to other than the start of a loop,
// goes to one of the segments first … last.
func returnsWithin(jumps []jump, loops []*loop, first, last int) bool {
	for _, j := range jumps {
		if first < j.to && j.to <= min(last, j.from) && loops[j.to] == nil {
			return true
		}
	}
	return false
}
