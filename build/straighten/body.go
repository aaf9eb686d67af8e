// SPDX-License-Identifier: Apache-2.0

package main

import "errors"

var errForm = errors.New("not the form that the Go compiler gives to a function")

// appendBody appends a function's body with each jump forward as a branch.
//
// The Go compiler (cmd/internal/obj/wasm) cuts a function into segments, with
// which it goes on after a jump or a call, and writes it so:
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
// A jump is "i32.const number, local.set 0, br loop": an indirect branch,
// wherever it goes. But in a segment the blocks of all later ones are open, so
// a jump to one of them can leave its block instead. Local 0 is read by the
// table only, and whatever goes there sets it first.
func appendBody(out, body []byte) ([]byte, error) {
	r := &reader{all: body}
	r.skipNumbers(2 * r.number()) // locals: how many, of which type
	table, segments := r.head()
	out = append(out, body[:r.at]...)
	if segments == 0 {
		return append(out, body[r.at:]...), r.err
	}
	segment := 0
	var nest []int // where each block opened within the segment begins in out
	for r.more() {
		from := r.at
		if to, ok := r.jump(table, segment, len(nest)+segments-1-segment); ok {
			out, nest = appendBranch(out, nest, r, to-segment-1)
			continue
		}
		switch r.next().op {
		case opBlock, opLoop, opIf:
			nest = append(nest, len(out))
		case opEnd:
			if len(nest) > 0 {
				nest = nest[:len(nest)-1]
			} else if segment++; segment == segments {
				return append(out, body[from:]...), r.err
			}
		}
		out = append(out, body[from:r.at]...)
	}
	return nil, errors.Join(r.err, errForm)
}

// head reads to where the first segment begins. It returns the segment for
// each number, and how many there are: 0 if the function has no jumps.
func (r *reader) head() (table []int, segments int) {
	looped := false
	for r.more() {
		switch i := r.next(); {
		case i.op == opLoop:
			looped = true
		case i.op == opBlock && looped:
			segments++
		case i.op == opLocalGet && i.value == 0 && segments > 0:
			return r.table(), segments
		case looped || i.op == opIf || i.op == opEnd:
			return nil, 0
		}
	}
	return nil, 0
}

// table reads the table and the end of its block.
func (r *reader) table() []int {
	if r.byte() != opBrTable {
		r.fail(errForm)
	}
	var table []int
	for n := r.number(); n >= 0 && r.err == nil; n-- {
		table = append(table, r.number())
	}
	if r.byte() != opEnd {
		r.fail(errForm)
	}
	return table
}

// jump reads a jump to a later segment than this one, and returns which; where
// anything else comes, it reads nothing. loop is the loop's label here.
func (r *reader) jump(table []int, segment, loop int) (to int, ok bool) {
	from := r.at
	if r.all[r.at] == opI32Const {
		number := r.next().value
		if 0 <= number && number < len(table) && table[number] > segment &&
			r.follows(opLocalSet, 0) && r.follows(opBr, loop) {
			return table[number], true
		}
	}
	if r.err == nil {
		r.at = from
	}
	return 0, false
}

// follows reports whether the next instruction is this one, and reads it unless
// its opcode is another.
func (r *reader) follows(op byte, value int) bool {
	return r.more() && r.all[r.at] == op && r.next().value == value
}

// appendBranch appends a branch to a block around the segment; label is the
// block's where no block is open within the segment. If the branch is all that
// an if block does, the block goes and the branch gets the condition.
func appendBranch(out []byte, nest []int, r *reader, label int) ([]byte, []int) {
	last := len(nest) - 1
	if last >= 0 && string(out[nest[last]:]) == emptyIf && r.follows(opEnd, 0) {
		return appendNumber(append(out[:nest[last]], opBrIf), last+label), nest[:last]
	}
	return appendNumber(append(out, opBr), len(nest)+label), nest
}

// emptyIf is an if block without a result of which nothing but its beginning is
// there yet.
const emptyIf = "\x04\x40"
