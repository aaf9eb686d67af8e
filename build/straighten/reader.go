// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
)

// Opcodes that matter here (WebAssembly Core Specification 2.0, 5.4).
const (
	opBlock    = 0x02
	opLoop     = 0x03
	opIf       = 0x04
	opElse     = 0x05
	opEnd      = 0x0b
	opBr       = 0x0c
	opBrIf     = 0x0d
	opBrTable  = 0x0e
	opLocalGet = 0x20
	opLocalSet = 0x21
	opI32Const = 0x41
	opI32Eqz   = 0x45
	opI32Sub   = 0x6b

	opJump = 0xff // in no module: stands for the three instructions of a jump
)

const noResult = 0x40 // the type of a block without one

var (
	errShort  = errors.New("the module ends in the middle of something")
	errNumber = errors.New("a number is too long")
)

// A reader goes through a part of a module. After its first error it stands
// still and reads zeros.
type reader struct {
	all []byte
	at  int
	err error
}

func (r *reader) more() bool { return r.err == nil && r.at < len(r.all) }

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err, r.at = err, len(r.all)
	}
}

func (r *reader) byte() byte {
	if r.at >= len(r.all) {
		r.fail(errShort)
		return 0
	}
	r.at++
	return r.all[r.at-1]
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.all)-r.at {
		r.fail(errShort)
		return nil
	}
	r.at += n
	return r.all[r.at-n : r.at]
}

// leb128 reads the bits of a number of 32 bits, and says how many there are.
func (r *reader) leb128() (v, bits int) {
	for bits < 35 {
		b := r.byte()
		v |= int(b&0x7f) << bits
		bits += 7
		if b < 0x80 {
			return v, bits
		}
	}
	r.fail(errNumber)
	return 0, bits
}

// number reads an unsigned number.
func (r *reader) number() int {
	v, _ := r.leb128()
	return v
}

// constant reads a signed number.
func (r *reader) constant() int {
	v, bits := r.leb128()
	return v - v>>(bits-1)<<bits
}

// sized reads a length and so many bytes.
func (r *reader) sized() []byte { return r.bytes(r.number()) }

// skipNumbers passes LEB128 numbers of any width and sign.
func (r *reader) skipNumbers(n int) {
	for ; n > 0 && r.err == nil; n-- {
		for r.byte() >= 0x80 {
		}
	}
}

// An instruction is an opcode with its operand where that matters here.
type instruction struct {
	op    byte
	value int    // label of a br or br_if, index of a local, i32 constant, segment of a jump; else 0
	code  []byte // all of it; of a jump, the first instruction
}

func (i instruction) is(op byte, value int) bool { return i.op == op && i.value == value }

// next reads an instruction. Vector and later instructions are refused: the Go
// compiler makes none.
func (r *reader) next() instruction {
	from := r.at
	i := instruction{op: r.byte()}
	switch op := i.op; {
	case op == opBr, op == opBrIf, op == opLocalGet, op == opLocalSet:
		i.value = r.number()
	case op == opI32Const:
		i.value = r.constant()
	case op == opBrTable:
		r.skipNumbers(r.number() + 1)
	case op == opBlock, op == opLoop, op == opIf, // a type is a number as well
		op == 0x10, 0x22 <= op && op <= 0x26, // call, local.tee, globals, tables
		0x3f <= op && op <= 0x42, op == 0xd0, op == 0xd2: // memory.size and .grow, i64.const, references
		r.skipNumbers(1)
	case op == 0x11, 0x28 <= op && op <= 0x3e: // call_indirect, loads and stores
		r.skipNumbers(2)
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op == 0xfc:
		r.skipPrefixed()
	case op <= 0x01, op == opElse, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b,
		0x45 <= op && op <= 0xc4, op == 0xd1: // no operands
	default:
		r.fail(fmt.Errorf("unknown instruction %#x", op))
	}
	i.code = r.all[from:r.at]
	return i
}

// skipPrefixed passes what follows the prefix 0xfc.
func (r *reader) skipPrefixed() {
	switch op := r.number(); op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // truncations
	case 9, 11, 13, 15, 16, 17: // data.drop, memory.fill, elem.drop, table.grow, .size, .fill
		r.skipNumbers(1)
	case 8, 10, 12, 14: // memory.init, memory.copy, table.init, table.copy
		r.skipNumbers(2)
	default:
		r.fail(fmt.Errorf("unknown instruction 0xfc %d", op))
	}
}

// appendNumber appends v in unsigned LEB128.
func appendNumber(b []byte, v int) []byte { return appendBelow(b, v, 0x80) }

// appendConstant appends v, not negative, in signed LEB128.
func appendConstant(b []byte, v int) []byte { return appendBelow(b, v, 0x40) }

// appendBelow appends v in groups of seven bits, the last one below limit.
func appendBelow(b []byte, v, limit int) []byte {
	for v >= limit {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendSized appends the length of part and part.
func appendSized(b, part []byte) []byte {
	return append(appendNumber(b, len(part)), part...)
}
