// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
)

// parseBinary reads the base64 of the protocol buffer, with or without padding.
func (p *Parser) parseBinary(b []byte) error {
	if len(b) > MaxValue {
		return ErrTooLong
	}
	b = bytes.TrimRight(bytes.TrimSpace(b), "=")
	if len(b) == 0 {
		return ErrSyntax
	}
	n, err := base64.RawStdEncoding.Decode(p.buffer[:], b)
	if err != nil {
		return ErrSyntax
	}
	return p.parseMessage(p.buffer[:n])
}

// Numbers of the fields of OrcaLoadReport (cncf/xds, xds/data/orca/v3/orca_load_report.proto)
// that are no doubles.
const (
	oldRPSNumber = 3 // deprecated, an integer
	namedNumber  = 8
)

// doubleField returns the field that OrcaLoadReport gives as a double under this number.
func doubleField(number uint64) (f Field, ok bool) {
	switch number {
	case 1:
		return CPU, true
	case 2:
		return Memory, true
	case 6:
		return RPS, true
	case 7:
		return EPS, true
	case 9:
		return Application, true
	}
	return 0, false
}

func (p *Parser) parseMessage(b []byte) error {
	oldRPS := 0.0
	for len(b) > 0 {
		f, rest, ok := readField(b)
		if !ok {
			return ErrSyntax
		}
		b = rest
		var err error
		known, isDouble := doubleField(f.number)
		switch {
		case isDouble && f.wire == fixed64:
			err = p.report.replace(known, f.double())
		case f.number == oldRPSNumber && f.wire == varint:
			oldRPS = float64(f.value)
		case f.number == namedNumber && f.wire == bytesWire:
			err = p.parseEntry(f.data)
		}
		if err != nil {
			return err
		}
	}
	if p.report.counts[RPS] == 0 && oldRPS > 0 {
		return p.report.put(RPS, oldRPS)
	}
	return nil
}

// replace sets a field; in a protocol buffer the last value counts.
func (r *Report) replace(f Field, v float64) error {
	if !finite(v) {
		return ErrValue
	}
	r.counts[f] = 0
	return r.put(f, v)
}

// parseEntry reads an entry of a map from strings to doubles.
func (p *Parser) parseEntry(b []byte) error {
	var name []byte
	value := 0.0
	for len(b) > 0 {
		f, rest, ok := readField(b)
		if !ok {
			return ErrSyntax
		}
		b = rest
		switch {
		case f.number == 1 && f.wire == bytesWire:
			name = f.data
		case f.number == 2 && f.wire == fixed64:
			value = f.double()
		}
	}
	if !finite(value) {
		return ErrValue
	}
	return p.report.putNamed(name, value)
}

func finite(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Wire types of protocol buffers. Groups (3 and 4) are of no use here and refused.
const (
	varint    = 0
	fixed64   = 1
	bytesWire = 2
	fixed32   = 5
)

// field is a field of a message as it is on the wire.
type field struct {
	number uint64
	wire   uint64
	value  uint64 // varint, fixed64, fixed32
	data   []byte // bytesWire
}

func (f *field) double() float64 {
	return math.Float64frombits(f.value)
}

// readField takes a field off b; ok is false where b is malformed or cut short.
func readField(b []byte) (f field, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 {
		return f, nil, false
	}
	b = b[n:]
	f.number, f.wire = tag>>3, tag&7
	size := 0
	switch f.wire {
	case varint:
		f.value, size = binary.Uvarint(b)
	case fixed64:
		if size = 8; len(b) >= size {
			f.value = binary.LittleEndian.Uint64(b)
		}
	case fixed32:
		if size = 4; len(b) >= size {
			f.value = uint64(binary.LittleEndian.Uint32(b))
		}
	case bytesWire:
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return f, nil, false
		}
		size = n + int(length)
		f.data = b[n:size]
	}
	if f.number == 0 || size <= 0 || size > len(b) {
		return f, nil, false
	}
	return f, b[size:], true
}
