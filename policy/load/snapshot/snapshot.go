// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// Bounds of a snapshot. Append leaves out entries and queue times beyond them, and entries whose
// address is empty or too long; of a pool's name it writes the beginning.
const (
	MaxEntries    = 1 << 14
	MaxText       = 1 << 10 // bytes of an address or a pool's name
	MaxQueueTimes = 16      // of one entry
)

// Faults of a snapshot.
var (
	ErrVersion = errors.New("snapshot: of another version")
	ErrFormat  = errors.New("snapshot: malformed")
)

const (
	magic   = 'k'
	version = 1
)

// Header tells which pool a snapshot is of, and when it was taken.
type Header struct {
	Pool     []byte // valid as long as the bytes that were read
	Sequence uint64 // grows by one with each snapshot of a collector
	Taken    int64  // by the host's clock, ns since 1970
}

// Entry is one endpoint.
type Entry struct {
	ID       []byte     // the endpoint's address; valid as long as the bytes that were read
	Spec     load.Spec  // its ID is neither written nor read: it would be a string for each entry
	Stats    load.Stats // At in the time of whoever writes or reads; 0: nothing is known
	Restarts uint32     // how often the engine has been seen to restart: when it changes, its cache is empty
}

// fits reports whether e has an address that can be written.
func (e *Entry) fits() bool { return len(e.ID) > 0 && len(e.ID) <= MaxText }

// Append appends a snapshot to dst; now is the writer's time at h.Taken.
// Numbers that are negative, NaN or no 32-bit float are written as 0, which means not reported.
func Append(dst []byte, h Header, now time.Duration, entries []Entry) []byte {
	dst = append(dst, magic, version)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Taken))
	dst = binary.LittleEndian.AppendUint64(dst, h.Sequence)
	dst = appendText(dst, h.Pool)
	countAt := len(dst)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	n := 0
	for i := range entries {
		e := &entries[i]
		if n < MaxEntries && e.fits() {
			dst = appendText(dst, e.ID)
			dst = appendRecord(dst, e, now)
			n++
		}
	}
	binary.LittleEndian.PutUint16(dst[countAt:], uint16(n))
	return dst
}

func appendText(dst, s []byte) []byte {
	s = s[:min(len(s), MaxText)]
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

// Reader reads one snapshot after the other. The zero value has no entries.
type Reader struct {
	header Header
	len    int
	left   int
	rest   []byte
}

// headerSize is the bytes before the pool's name.
const headerSize = 2 + 8 + 8

// Open begins to read a snapshot and checks all of it. After an error the reader has no entries.
// The bytes must not change while they are read.
func (r *Reader) Open(b []byte) error {
	*r = Reader{}
	if len(b) < headerSize || b[0] != magic {
		return ErrFormat
	}
	if b[1] != version {
		return ErrVersion
	}
	h := Header{
		Taken:    int64(binary.LittleEndian.Uint64(b[2:])),
		Sequence: binary.LittleEndian.Uint64(b[10:]),
	}
	pool, b, ok := cutText(b[headerSize:])
	if !ok || len(b) < 2 {
		return ErrFormat
	}
	h.Pool = pool
	n := int(binary.LittleEndian.Uint16(b))
	b = b[2:]
	if n > MaxEntries || !valid(b, n) {
		return ErrFormat
	}
	r.header, r.len, r.left, r.rest = h, n, n, b
	return nil
}

// valid reports whether b is n entries and nothing else.
func valid(b []byte, n int) bool {
	for range n {
		id, rest, ok := cutText(b)
		if !ok || len(id) == 0 || len(rest) < recordSize {
			return false
		}
		record := record(rest)
		if !record.valid() || record.size() > len(rest) {
			return false
		}
		b = rest[record.size():]
	}
	return len(b) == 0
}

// cutText takes a text off b.
func cutText(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	end := 2 + int(binary.LittleEndian.Uint16(b))
	if end > 2+MaxText || end > len(b) {
		return nil, nil, false
	}
	return b[2:end:end], b[end:], true
}

// Header returns the header of the open snapshot.
func (r *Reader) Header() Header { return r.header }

// Len returns how many entries the open snapshot has.
func (r *Reader) Len() int { return r.len }

// Next reads the next entry into e and reports whether there was one. taken is the reader's time
// at Header.Taken. Statistics older than the reader's time are moved to its beginning, since a
// time of 0 means that nothing is known. e.Stats.QueueTimes is used again.
func (r *Reader) Next(e *Entry, taken time.Duration) bool {
	if r.left == 0 {
		return false
	}
	r.left--
	id, rest, _ := cutText(r.rest)
	e.ID = id
	record := record(rest)
	record.read(e, taken)
	r.rest = rest[record.size():]
	return true
}
