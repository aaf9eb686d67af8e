// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
)

var errForm = errors.New("not the form that the Go compiler gives to a function")

// A function is a body with jumps, in the form that the Go compiler
// (cmd/internal/obj/wasm) writes. It cuts the code into segments, with which a
// function goes on after a jump, or when a call that suspended it is over:
//
//	loop
//	  block … block block         one for each segment
//	    local.get 0
//	    br_table …                numbers → segments
//	  end
//	  segment 0
//	  end
//	  segment 1
//	  …
//	end
//
// A jump is "i32.const number, local.set 0, br loop", wherever it goes. The
// caller goes on with a suspended function by a number in local 0.
type function struct {
	head     []byte          // all before the blocks
	table    []int           // number → segment
	segments [][]instruction // without the ends between them
	tail     []byte          // from the loop's end on
}

// parse takes a body apart. It returns nil for one without jumps.
func parse(body []byte) (*function, error) {
	r := &reader{all: body}
	r.skipNumbers(2 * r.number()) // locals: how many, of which type
	f := &function{}
	n := f.parseHead(r)
	if n == 0 || r.err != nil {
		return nil, r.err
	}
	depth := 0
	var segment []instruction
	for r.more() {
		i := r.next()
		switch i.op {
		case opBlock, opLoop, opIf:
			depth++
		case opEnd:
			depth--
		case opBr:
			if i.value == depth+n-1-len(f.segments) { // the loop's label
				segment, i = f.asJump(segment, i)
			}
		case opBrTable:
			r.fail(errForm)
		}
		if depth >= 0 {
			segment = append(segment, i)
			continue
		}
		f.segments, segment, depth = append(f.segments, segment), nil, 0
		if len(f.segments) == n {
			f.tail = body[r.at-1:]
			return f, r.err
		}
	}
	return nil, errors.Join(r.err, errForm)
}

// parseHead reads to where the first segment begins, and returns how many there
// are: 0 if the function has no jumps.
func (f *function) parseHead(r *reader) (segments int) {
	for r.more() {
		switch i := r.next(); {
		case i.op == opLoop:
			f.head = r.all[:r.at]
		case i.op == opBlock && f.head != nil:
			segments++
		case i.op == opLocalGet && i.value == 0 && segments > 0:
			f.parseTable(r, segments)
			return segments
		case f.head != nil, i.op == opIf, i.op == opEnd:
			return 0
		}
	}
	return 0
}

// parseTable reads the table and the end of its block. Numbers count up with the
// segments, each of which has one at least.
func (f *function) parseTable(r *reader, segments int) {
	if r.byte() != opBrTable {
		r.fail(errForm)
	}
	for n := r.number(); n >= 0 && r.err == nil; n-- {
		f.table = append(f.table, r.number())
	}
	distinct := slices.Compact(slices.Clone(f.table))
	if !slices.IsSorted(f.table) || len(distinct) != segments || distinct[segments-1] != segments-1 || r.byte() != opEnd {
		r.fail(errForm)
	}
}

// asJump takes the two instructions before a branch to the loop off the segment,
// and returns the jump that the three are, if they are one.
func (f *function) asJump(segment []instruction, br instruction) ([]instruction, instruction) {
	at := len(segment) - 2
	if at < 0 || segment[at].op != opI32Const || !segment[at+1].is(opLocalSet, 0) {
		return segment, br
	}
	number := segment[at]
	if number.value < 0 || number.value >= len(f.table) {
		return segment, br
	}
	return segment[:at], instruction{op: opJump, value: f.table[number.value], code: number.code}
}

// A jump goes from one segment to another.
type jump struct{ from, to int }

func (f *function) jumps() []jump {
	var all []jump
	for s, segment := range f.segments {
		for _, i := range segment {
			if i.op == opJump {
				all = append(all, jump{s, i.value})
			}
		}
	}
	return all
}

// tableLabel is the label, in segment s outside of its blocks, of the loop that
// leads to the table.
func (f *function) tableLabel(s int) int { return len(f.segments) - 1 - s }

// suspends reports whether a call in segment s can suspend the function, which
// then leaves all loops and goes on with the segment behind the call. No other
// segment is gone on with, but those that begin with such a call.
func (f *function) suspends(s int) bool {
	for _, i := range f.segments[s] {
		if i.op == opBrIf && i.value > f.tableLabel(s) {
			return true
		}
	}
	return false
}
