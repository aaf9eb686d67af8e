// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// What VMs write for each other. Numbers are little-endian and of fixed size.
//
//	head    version 1 · wall 8 · wants 1 · vm 8 · segments 4 · {name 8 · queued 4 · in flight 4}*
//	batch   version 1 · 0 1 · names 2 · records 4 · vm 8 · number 4 · {name 8}* · record*
//	record  hash 8 · tag 8 · size 3 · flags 1 · name's index 2 · age 2        24 bytes
//
// An endpoint's name is a hash of its pool's identity and its address, because
// tables of different VMs give it different indices. Ages are in tenths of a
// second; in a segment they are 0, for what is told is at most a few ticks old,
// and to put it behind what was touched since would cost a step for each of
// that.
const (
	wireVersion = 1

	headSize      = 22
	headUnchanged = 9 // where that part of a head begins that isn't the time
	sumSize       = 16
	batchSize     = 20
	recordSize    = 24
	sizeMost      = 1<<24 - 1
	ageUnit       = 100 * time.Millisecond // 16 bits reach back 1.8 hours
)

// head is the fixed part of a head, and the rest of one that was parsed.
type head struct {
	wants    bool
	wall     int64 // ms; 0 = the VM has left
	vm       uint64
	segments uint32
	rest     []byte
}

func (h *head) append(b []byte) []byte {
	b = append(b, wireVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.wall))
	b = append(b, flagOf(h.wants))
	b = binary.LittleEndian.AppendUint64(b, h.vm)
	return binary.LittleEndian.AppendUint32(b, h.segments)
}

func appendSum(b []byte, name uint64, s load.Share) []byte {
	b = binary.LittleEndian.AppendUint64(b, name)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(s.Queued)))
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(s.InFlight)))
}

func parseHead(b []byte) (h head, ok bool) {
	if len(b) < headSize || b[0] != wireVersion || (len(b)-headSize)%sumSize != 0 {
		return h, false
	}
	return head{
		wall:     int64(binary.LittleEndian.Uint64(b[1:])),
		wants:    b[9] != 0,
		vm:       binary.LittleEndian.Uint64(b[10:]),
		segments: binary.LittleEndian.Uint32(b[18:]),
		rest:     b[headSize:],
	}, true
}

// sums iterates over what a VM has in flight, by endpoint.
func (h *head) sums(yield func(name uint64, s load.Share) bool) {
	for b := h.rest; len(b) >= sumSize; b = b[sumSize:] {
		s := load.Share{
			Queued:   float64(math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))),
			InFlight: float64(math.Float32frombits(binary.LittleEndian.Uint32(b[12:]))),
		}
		if !yield(binary.LittleEndian.Uint64(b), s) {
			return
		}
	}
}

// newsKind is what a record says of its placement.
type newsKind uint8

const (
	made      newsKind = iota // made or touched
	owned                     // the hash is a conversation key or an answer's id
	gone                      // the endpoint doesn't hold it after all
	restarted                 // the endpoint holds nothing; hash and tag are 0
	newsKinds
)

// news is one thing to tell the other VMs.
type news struct {
	hash, tag uint64
	size      uint32
	kind      newsKind
	endpoint  uint64 // name
	age       time.Duration
}

// batch is the fixed part of a batch of news, and the rest of one that was
// parsed.
type batch struct {
	vm     uint64
	number uint32 // of the segment, or of the hand-over's part
	names  []byte
	rest   []byte // records
}

// append writes the batch with these news.
func (b *batch) append(dst []byte, list []news, names *nameList) []byte {
	names.reset()
	for i := range list {
		names.number(list[i].endpoint)
	}
	dst = append(dst, wireVersion, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(names.list)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(list)))
	dst = binary.LittleEndian.AppendUint64(dst, b.vm)
	dst = binary.LittleEndian.AppendUint32(dst, b.number)
	for _, name := range names.list {
		dst = binary.LittleEndian.AppendUint64(dst, name)
	}
	for i := range list {
		dst = list[i].append(dst, names.number(list[i].endpoint))
	}
	return dst
}

func (n *news) append(dst []byte, name int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, n.hash)
	dst = binary.LittleEndian.AppendUint64(dst, n.tag)
	dst = binary.LittleEndian.AppendUint32(dst, min(n.size, sizeMost)|uint32(n.kind)<<24)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(name))
	return binary.LittleEndian.AppendUint16(dst, uint16(min(n.age/ageUnit, math.MaxUint16)))
}

func parseBatch(p []byte) (b batch, ok bool) {
	if len(p) < batchSize || p[0] != wireVersion {
		return b, false
	}
	names, records := int(binary.LittleEndian.Uint16(p[2:])), int(binary.LittleEndian.Uint32(p[4:]))
	if records < 0 || records > len(p) || len(p) != batchSize+8*names+recordSize*records {
		return b, false
	}
	return batch{
		vm:     binary.LittleEndian.Uint64(p[8:]),
		number: binary.LittleEndian.Uint32(p[16:]),
		names:  p[batchSize:][:8*names],
		rest:   p[batchSize+8*names:],
	}, true
}

// name is the name at an index; 0, which no endpoint has, for one beyond.
func (b *batch) name(i int) uint64 {
	if 8*i+8 > len(b.names) {
		return 0
	}
	return binary.LittleEndian.Uint64(b.names[8*i:])
}

// record is a piece of news as it is read.
type record struct {
	kind newsKind
	table.Placement
}

// records iterates over the news, each with the index of its endpoint's name.
func (b *batch) records(yield func(name int, r record) bool) {
	for p := b.rest; len(p) >= recordSize; p = p[recordSize:] {
		size := binary.LittleEndian.Uint32(p[16:])
		kind := newsKind(size >> 24)
		x := table.Placement{
			Hash:  binary.LittleEndian.Uint64(p),
			Tag:   binary.LittleEndian.Uint64(p[8:]),
			Size:  size & sizeMost,
			Owner: kind == owned,
			Age:   time.Duration(binary.LittleEndian.Uint16(p[22:])) * ageUnit,
		}
		if !yield(int(binary.LittleEndian.Uint16(p[20:])), record{kind, x}) {
			return
		}
	}
}

// nameList numbers the names of a batch in the order of their first use.
type nameList struct {
	list    []uint64
	numbers map[uint64]int
	latest  int // number of the last name asked for: news of one endpoint come in runs
}

func (l *nameList) reset() {
	l.list, l.latest = l.list[:0], 0
	clear(l.numbers)
}

func (l *nameList) number(name uint64) int {
	if len(l.list) > 0 && l.list[l.latest] == name {
		return l.latest
	}
	i, ok := l.numbers[name]
	if !ok {
		if l.numbers == nil {
			l.numbers = map[uint64]int{}
		}
		i = len(l.list)
		l.numbers[name] = i
		l.list = append(l.list, name)
	}
	l.latest = i
	return i
}

func flagOf(b bool) byte {
	if b {
		return 1
	}
	return 0
}
