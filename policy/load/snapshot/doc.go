// SPDX-License-Identifier: Apache-2.0

// Package snapshot is the form in which the collector hands a pool's endpoints and their load to
// the workers: some 80 bytes for an endpoint, read without allocating.
//
//	collector: []Entry → Append → shared queue, shared data → Reader → Entry by Entry: worker
//
// Open checks the whole snapshot before the first entry is read, so that a worker takes all of it
// or nothing. Any bytes may be given to it: it returns an error, allocates nothing and never
// panics, and what it takes holds finite numbers ≥ 0 only.
//
// Each VM counts its own time, so times travel as ages: a snapshot has the time of the host's
// clock at which it was taken, each statistic its age at that time. The reader says which of its
// own times that was.
//
// # Format, version 1
//
//	'k', 1      magic, version
//	8 bytes     taken, ns since 1970
//	8 bytes     sequence
//	text        pool
//	2 bytes     count
//	count × (text, record, queue times)   address and the rest, see record.go
//
// Numbers are little endian. A text is its length in 2 bytes and its bytes. A record has a fixed
// size, 66 bytes, which a worker reads in a sixth of the time that variable-length numbers take;
// its floats have 4 bytes, since seven digits are more than a statistic is worth, and its times are
// in µs. An unknown version or flag is an error: a module and its successor may be loaded at the
// same time, and the older one then keeps what it knows.
package snapshot
