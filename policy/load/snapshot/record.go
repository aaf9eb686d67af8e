// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// Flags of a record.
const (
	healthy = 1 << iota
	draining
	far
	reported // there are statistics, and the age is theirs
	allFlags = healthy | draining | far | reported
)

// Places in a record.
const (
	flagsAt    = 0
	timesAt    = 1  // how many queue times follow
	restartsAt = 2  // 4 bytes
	ageAt      = 6  // 4 bytes, µs
	rttAt      = 10 // 4 bytes, µs
	capacityAt = 14 // 8 bytes
	floatsAt   = 22 // 4 bytes each
	recordSize = floatsAt + 4*floatCount
)

const (
	floatCount    = 11
	queueTimeSize = 4 + 8
)

// record is the part of an entry after its address. Its methods need recordSize bytes.
type record []byte

// appendRecord appends e's record and its queue times; now is the time of which ages are counted.
func appendRecord(dst []byte, e *Entry, now time.Duration) []byte {
	var b [recordSize]byte
	s := &e.Stats
	times := s.QueueTimes[:min(len(s.QueueTimes), MaxQueueTimes)]
	b[flagsAt] = e.flags()
	b[timesAt] = byte(len(times))
	binary.LittleEndian.PutUint32(b[restartsAt:], e.Restarts)
	binary.LittleEndian.PutUint32(b[ageAt:], micros(now-s.At))
	binary.LittleEndian.PutUint32(b[rttAt:], micros(s.RTT))
	binary.LittleEndian.PutUint64(b[capacityAt:], e.Spec.Capacity)
	for i, v := range [floatCount]float64{
		e.Spec.Weight, e.Spec.Rate, s.Waiting, s.Running, s.QueuedTokens, s.MaxConcurrency,
		s.KVUse, s.KVCapacity, s.KVUsed, s.KVFree, s.InputRate,
	} {
		binary.LittleEndian.PutUint32(b[floatsAt+4*i:], floatBits(v))
	}
	dst = append(dst, b[:]...)
	for _, q := range times {
		dst = binary.LittleEndian.AppendUint32(dst, q.Priority)
		dst = binary.LittleEndian.AppendUint64(dst, q.Wait)
	}
	return dst
}

func (e *Entry) flags() byte {
	flags := byte(0)
	if e.Spec.Healthy {
		flags |= healthy
	}
	if e.Spec.Draining {
		flags |= draining
	}
	if e.Spec.Far {
		flags |= far
	}
	if e.Stats.At > 0 {
		flags |= reported
	}
	return flags
}

func micros(d time.Duration) uint32 {
	return uint32(min(max(0, d)/time.Microsecond, math.MaxUint32))
}

// infinite is the bits of the smallest 32-bit float that is no finite number ≥ 0. Those of NaN
// and, for their sign, of negative numbers are larger.
const infinite = 0x7f800000

// floatBits returns v as a 32-bit float, and 0 for what is not a finite number ≥ 0 of 32 bits.
func floatBits(v float64) uint32 {
	b := math.Float32bits(float32(v))
	if b >= infinite {
		return 0
	}
	return b
}

// valid reports whether all that is in the record may be believed.
func (r record) valid() bool {
	if r[flagsAt]&^allFlags != 0 || r[timesAt] > MaxQueueTimes {
		return false
	}
	for i := floatsAt; i < recordSize; i += 4 {
		if binary.LittleEndian.Uint32(r[i:]) >= infinite {
			return false
		}
	}
	return true
}

// size returns how many bytes the record and its queue times have.
func (r record) size() int {
	return recordSize + int(r[timesAt])*queueTimeSize
}

// read sets e's fields but for the address.
func (r record) read(e *Entry, taken time.Duration) {
	_ = r[recordSize-1]
	flags := r[flagsAt]
	e.Restarts = binary.LittleEndian.Uint32(r[restartsAt:])
	e.Spec = load.Spec{
		Capacity: binary.LittleEndian.Uint64(r[capacityAt:]),
		Weight:   r.float(0),
		Rate:     r.float(1),
		Healthy:  flags&healthy != 0,
		Draining: flags&draining != 0,
		Far:      flags&far != 0,
	}
	e.Stats = load.Stats{
		Waiting:        r.float(2),
		Running:        r.float(3),
		QueuedTokens:   r.float(4),
		MaxConcurrency: r.float(5),
		KVUse:          r.float(6),
		KVCapacity:     r.float(7),
		KVUsed:         r.float(8),
		KVFree:         r.float(9),
		InputRate:      r.float(10),
		RTT:            r.duration(rttAt),
		QueueTimes:     r.queueTimes(e.Stats.QueueTimes[:0]),
	}
	if flags&reported != 0 {
		e.Stats.At = max(1, taken-r.duration(ageAt))
	}
}

func (r record) float(i int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(r[floatsAt+4*i:])))
}

func (r record) duration(at int) time.Duration {
	return time.Duration(binary.LittleEndian.Uint32(r[at:])) * time.Microsecond
}

func (r record) queueTimes(dst []load.QueueTime) []load.QueueTime {
	for b := r[recordSize:r.size()]; len(b) > 0; b = b[queueTimeSize:] {
		dst = append(dst, load.QueueTime{
			Priority: binary.LittleEndian.Uint32(b),
			Wait:     binary.LittleEndian.Uint64(b[4:]),
		})
	}
	return dst
}
