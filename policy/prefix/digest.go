// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

const (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
	prime3 uint64 = 1609587929392839161
	prime4 uint64 = 9650029242287828579
	prime5 uint64 = 2870177450012600261
)

// stripe is the number of bytes that one step of xxhash64 takes.
const stripe = 32

// digest is a streaming xxhash64 (specification:
// https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). It stands here and not in a
// library because digest.text looks for the end of a JSON string in the very words it hashes.
type digest struct {
	v1, v2, v3, v4 uint64
	seed           uint64
	total          uint64 // bytes written since reset
	n              int    // bytes held in buf, less than a stripe
	buf            [stripe]byte
}

// reset starts the hash of an empty text under seed.
func (d *digest) reset(seed uint64) {
	d.v1 = seed + prime1 + prime2
	d.v2 = seed + prime2
	d.v3 = seed
	d.v4 = seed - prime1
	d.seed = seed
	d.total = 0
	d.n = 0
}

// write adds p to the text.
func (d *digest) write(p []byte) {
	d.total += uint64(len(p))
	if d.n > 0 {
		k := copy(d.buf[d.n:], p)
		d.n += k
		if d.n < stripe {
			return
		}
		p = p[k:]
		d.stripes(d.buf[:])
		d.n = 0
	}
	if len(p) >= stripe {
		p = p[d.stripes(p):]
	}
	if len(p) > 0 {
		d.n = copy(d.buf[:], p)
	}
}

// stripes mixes all whole stripes of p into the lanes and returns their length.
func (d *digest) stripes(p []byte) int {
	v1, v2, v3, v4 := d.v1, d.v2, d.v3, d.v4
	n := len(p) &^ (stripe - 1)
	for q := p[:n]; len(q) >= stripe; q = q[stripe:] {
		v1 = round(v1, binary.LittleEndian.Uint64(q[0:8]))
		v2 = round(v2, binary.LittleEndian.Uint64(q[8:16]))
		v3 = round(v3, binary.LittleEndian.Uint64(q[16:24]))
		v4 = round(v4, binary.LittleEndian.Uint64(q[24:32]))
	}
	d.v1, d.v2, d.v3, d.v4 = v1, v2, v3, v4
	return n
}

// text mixes the whole stripes of plain text that p begins with into the lanes and returns their
// length. d.n must be 0.
func (d *digest) text(p []byte) int {
	v1, v2, v3, v4 := d.v1, d.v2, d.v3, d.v4
	q := p
	for len(q) >= stripe {
		a := binary.LittleEndian.Uint64(q[0:8])
		b := binary.LittleEndian.Uint64(q[8:16])
		c := binary.LittleEndian.Uint64(q[16:24])
		e := binary.LittleEndian.Uint64(q[24:32])
		if plainBits(a)&plainBits(b)&plainBits(c)&plainBits(e)&^(a|b|c|e)&highBits != highBits {
			break
		}
		v1 = round(v1, a)
		v2 = round(v2, b)
		v3 = round(v3, c)
		v4 = round(v4, e)
		q = q[stripe:]
	}
	d.v1, d.v2, d.v3, d.v4 = v1, v2, v3, v4
	n := len(p) - len(q)
	d.total += uint64(n)
	return n
}

// sum returns the hash of the text so far.
func (d *digest) sum() uint64 {
	h := d.seed + prime5
	if d.total >= stripe {
		h = merge(d.v1, d.v2, d.v3, d.v4)
	}
	if d.n == 0 {
		return avalanche(h + d.total)
	}
	return finish(h+d.total, d.buf[:d.n])
}

// hashBytes returns the xxhash64 of p under seed.
func hashBytes(seed uint64, p []byte) uint64 {
	if len(p) < stripe {
		return finish(seed+prime5+uint64(len(p)), p)
	}
	return hashLong(seed, p)
}

// hashShort is short and the hash of the string it has found.
func hashShort(p []byte) (n int, hash uint64) {
	var last uint64 // the word in which the string ends
	for n = 0; ; n += wordBytes {
		if n >= shortText || len(p)-n < wordBytes {
			return -1, 0
		}
		last = word(p, n)
		if odd := oddBits(last); odd != 0 {
			n += bits.TrailingZeros64(odd) >> 3
			break
		}
	}
	if p[n] != '"' {
		return -1, 0
	}
	if n >= stripe {
		return n, hashLong(0, p[:n])
	}
	h := prime5 + uint64(n)
	for i := 0; i < n&^7; i += wordBytes {
		h = finishWord(h, word(p, i))
	}
	if n&4 != 0 {
		h ^= last & 0xffffffff * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		last >>= 32
	}
	if n&2 != 0 {
		h = finishByte(finishByte(h, byte(last)), byte(last>>8))
		last >>= 16
	}
	if n&1 != 0 {
		h = finishByte(h, byte(last))
	}
	return n, avalanche(h)
}

func hashLong(seed uint64, p []byte) uint64 {
	total := uint64(len(p))
	v1, v2, v3, v4 := seed+prime1+prime2, seed+prime2, seed, seed-prime1
	for ; len(p) >= stripe; p = p[stripe:] {
		v1 = round(v1, binary.LittleEndian.Uint64(p[0:8]))
		v2 = round(v2, binary.LittleEndian.Uint64(p[8:16]))
		v3 = round(v3, binary.LittleEndian.Uint64(p[16:24]))
		v4 = round(v4, binary.LittleEndian.Uint64(p[24:32]))
	}
	return finish(merge(v1, v2, v3, v4)+total, p)
}

// hashString is hashBytes for a string.
func hashString(seed uint64, text string) uint64 {
	return hashBytes(seed, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// merge folds the four lanes into one.
func merge(v1, v2, v3, v4 uint64) uint64 {
	h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) +
		bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
	h = (h^round(0, v1))*prime1 + prime4
	h = (h^round(0, v2))*prime1 + prime4
	h = (h^round(0, v3))*prime1 + prime4
	return (h^round(0, v4))*prime1 + prime4
}

// finish mixes in what is left behind the last stripe. Its length in binary says what steps there
// are, so that none of them needs a loop.
func finish(h uint64, p []byte) uint64 {
	if len(p)&16 != 0 {
		h = finishWord(finishWord(h, binary.LittleEndian.Uint64(p)), binary.LittleEndian.Uint64(p[8:]))
		p = p[16:]
	}
	if len(p)&8 != 0 {
		h = finishWord(h, binary.LittleEndian.Uint64(p))
		p = p[8:]
	}
	if len(p)&4 != 0 {
		h ^= uint64(binary.LittleEndian.Uint32(p)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		p = p[4:]
	}
	if len(p)&2 != 0 {
		h = finishByte(finishByte(h, p[0]), p[1])
		p = p[2:]
	}
	if len(p)&1 != 0 {
		h = finishByte(h, p[0])
	}
	return avalanche(h)
}

func finishWord(h, w uint64) uint64 {
	return bits.RotateLeft64(h^round(0, w), 27)*prime1 + prime4
}

func finishByte(h uint64, c byte) uint64 {
	return bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
}

func round(acc, word uint64) uint64 {
	return bits.RotateLeft64(acc+word*prime2, 31) * prime1
}

func avalanche(h uint64) uint64 {
	h ^= h >> 33
	h *= prime2
	h ^= h >> 29
	h *= prime3
	return h ^ h>>32
}

// mix combines two hashes; mix(a, b) and mix(b, a) differ.
func mix(a, b uint64) uint64 {
	return avalanche(bits.RotateLeft64(a+prime1, 31)*prime4 ^ (b + prime5))
}
