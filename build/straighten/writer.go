// SPDX-License-Identifier: Apache-2.0

package main

import "bytes"

// A writer writes a function with its jumps as branches.
//
// In a segment the blocks of all later ones are open, so a jump forward leaves
// the block of the segment that it goes to. A loop becomes one, with the blocks
// of its other segments inside:
//
//	block                         to the middle of the loop
//	  block                       to its first segment
//	  …
//	  end
//	  i32.const 0, local.set 0    it begins at its start
//	end
//	loop
//	  block … block               one for each of its other segments
//	    block                     to its first segment
//	      local.get 0, i32.eqz, br_if 0
//	      local.get 0, i32.const lowest, i32.sub
//	      br_table …              numbers → its other segments
//	    end
//	    first segment
//	  end
//	  …
//	end
//
// A jump back is "i32.const 0, local.set 0, br": local 0 is 0 in the loop, but
// where a number has led to its middle. So has a jump from outside, which is
// "i32.const number, local.set 0, br" to the outer block. What isn't entered in
// its middle needs neither outer block nor table nor zeros; what is entered at
// one place only, "local.get 0, br_if" to there instead of the inner block.
type writer struct {
	*function
	loops []*loop
	out   []byte
	open  []label // what branches can go to, from outside in
	err   error
}

// A label is what a branch can go to.
type label struct {
	kind    labelKind
	segment int // where a loop is meant, its first
}

type labelKind int

const (
	toSegment labelKind = iota
	toMiddle            // of a loop, wherever local 0 says
	toStart             // of a loop, from within
	toTable
)

// straightened returns the body with its jumps as branches.
func (f *function) straightened() ([]byte, error) {
	w := &writer{function: f, loops: f.loops(), out: bytes.Clone(f.head), open: []label{{kind: toTable}}}
	end := len(f.segments) - 1
	w.openBlocks(0, end)
	w.out = append(w.out, opLocalGet, 0)
	w.appendTable(f.table, 0)
	for s := range f.segments {
		w.closeBlock()
		if w.loops[s] != nil {
			w.beginLoop(s)
		}
		w.appendSegment(s)
		w.endLoops(s)
	}
	return append(w.out, f.tail...), w.err
}

func (w *writer) openBlock(op byte, l label) {
	w.out = append(w.out, op, noResult)
	w.open = append(w.open, l)
}

func (w *writer) closeBlock() {
	w.out = append(w.out, opEnd)
	w.open = w.open[:len(w.open)-1]
}

// openBlocks opens the blocks of the segments first … last, but for those
// inside of loops.
func (w *writer) openBlocks(first, last int) {
	var all []int
	for s := first; s <= last; s = w.next(s) {
		all = append(all, s)
	}
	for i := len(all) - 1; i >= 0; i-- {
		s := all[i]
		if w.loops[s] != nil && w.loops[s].entered {
			w.openBlock(opBlock, label{toMiddle, s})
		}
		w.openBlock(opBlock, label{toSegment, s})
	}
}

// next is the segment behind s, or behind the loop that begins with s.
func (w *writer) next(s int) int {
	if w.loops[s] != nil {
		return w.loops[s].last + 1
	}
	return s + 1
}

// appendTable appends a table of numbers, where the blocks of the segments from
// first on are open that they lead to.
func (w *writer) appendTable(numbers []int, first int) {
	w.out = appendNumber(append(w.out, opBrTable), len(numbers)-1)
	for _, to := range numbers {
		w.out = appendNumber(w.out, w.depth(w.forward(first, to)))
	}
}

// forward is the label that leads to a segment, where the blocks of those from
// first on are open.
func (w *writer) forward(first, to int) label {
	s := first
	for w.next(s) <= to {
		s = w.next(s)
	}
	if s < to && w.loops[s].entered {
		return label{toMiddle, s}
	}
	return label{toSegment, s} // of a loop that nothing gets into, the start
}

// depth is the number of a label here, outside of the segment's own blocks.
func (w *writer) depth(l label) int {
	for depth := range w.open {
		if w.open[len(w.open)-1-depth] == l {
			return depth
		}
	}
	w.err = errForm // a branch of the code's own into a loop
	return 0
}

// beginLoop begins the loop of segment s.
func (w *writer) beginLoop(s int) {
	l := w.loops[s]
	if l.entered {
		w.out = append(w.out, opI32Const, 0, opLocalSet, 0)
		w.closeBlock()
	}
	w.openBlock(opLoop, label{toStart, s})
	w.openBlocks(s+1, l.last)
	switch {
	case l.only > 0:
		w.out = append(w.out, opLocalGet, 0, opBrIf)
		w.out = appendNumber(w.out, w.depth(w.forward(s+1, l.only)))
	case l.entered:
		lowest, end := w.numbers(s+1, l.last)
		w.openBlock(opBlock, label{toSegment, s})
		w.out = append(w.out, opLocalGet, 0, opI32Eqz, opBrIf, 0)
		w.out = appendConstant(append(w.out, opLocalGet, 0, opI32Const), lowest)
		w.out = append(w.out, opI32Sub)
		w.appendTable(w.table[lowest:end], s+1)
		w.closeBlock()
	}
}

// numbers returns the range of numbers that stand for the segments first … last.
// The table is in order, for the compiler counts both up.
func (w *writer) numbers(first, last int) (lowest, end int) {
	for lowest < len(w.table) && w.table[lowest] < first {
		lowest++
	}
	for end = lowest; end < len(w.table) && w.table[end] <= last; end++ {
	}
	return lowest, end
}

// endLoops ends the loops whose last segment is s.
func (w *writer) endLoops(s int) {
	for {
		l := w.open[len(w.open)-1]
		if l.kind != toStart || w.loops[l.segment].last != s {
			return
		}
		w.closeBlock()
	}
}

// appendSegment appends the code of segment s.
func (w *writer) appendSegment(s int) {
	segment := w.segments[s]
	var nest []int // where each block opened within the segment begins in out
	for at := 0; at < len(segment); at++ {
		i := segment[at]
		switch i.op {
		case opBlock, opLoop, opIf:
			nest = append(nest, len(w.out))
		case opEnd:
			nest = nest[:len(nest)-1]
		case opBr, opBrIf:
			w.out = appendNumber(append(w.out, i.op), w.renumbered(s, len(nest), i.value))
			continue
		case opJump:
			ends := at+1 < len(segment) && segment[at+1].op == opEnd
			if w.appendJump(w.target(s, i.value), i.code, nest, ends) {
				at++
				nest = nest[:len(nest)-1]
			}
			continue
		}
		w.out = append(w.out, i.code...)
	}
}

// target is the label for a jump from segment s.
func (w *writer) target(s, to int) label {
	switch {
	case to > s:
		return w.forward(s+1, to)
	case w.loops[to] != nil:
		return label{toStart, to}
	default:
		return label{kind: toTable}
	}
}

// appendJump appends a jump; number is the instruction that puts the number of
// its segment onto the stack. If the jump is a branch and all that an if block
// does, which ends, the branch takes the place of that block.
func (w *writer) appendJump(to label, number []byte, nest []int, ends bool) (inPlace bool) {
	switch {
	case to.kind == toMiddle || to.kind == toTable:
		w.out = append(append(w.out, number...), opLocalSet, 0)
	case to.kind == toStart && w.loops[to.segment].entered:
		w.out = append(w.out, opI32Const, 0, opLocalSet, 0)
	}
	last := len(nest) - 1
	if last >= 0 && ends && string(w.out[nest[last]:]) == emptyIf {
		w.out = appendNumber(append(w.out[:nest[last]], opBrIf), last+w.depth(to))
		return true
	}
	w.out = appendNumber(append(w.out, opBr), len(nest)+w.depth(to))
	return false
}

// emptyIf is the beginning of an if block without a result, and nothing else.
const emptyIf = string(rune(opIf)) + string(rune(noResult))

// renumbered is the number here of a label that is old in the function as it
// was, in segment s and nest blocks deep.
func (w *writer) renumbered(s, nest, old int) int {
	if old < nest {
		return old
	}
	switch out := old - nest - w.tableLabel(s); {
	case out < 0:
		return nest + w.depth(label{toSegment, s + 1 + old - nest})
	case out == 0:
		return nest + w.depth(label{kind: toTable})
	default:
		return nest + len(w.open) - 1 + out
	}
}
