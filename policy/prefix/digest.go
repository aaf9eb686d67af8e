// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"math/bits"
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
	d.n = copy(d.buf[:], p)
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
		h = bits.RotateLeft64(d.v1, 1) + bits.RotateLeft64(d.v2, 7) +
			bits.RotateLeft64(d.v3, 12) + bits.RotateLeft64(d.v4, 18)
		h = (h^round(0, d.v1))*prime1 + prime4
		h = (h^round(0, d.v2))*prime1 + prime4
		h = (h^round(0, d.v3))*prime1 + prime4
		h = (h^round(0, d.v4))*prime1 + prime4
	}
	h += d.total
	p := d.buf[:d.n]
	for ; len(p) >= 8; p = p[8:] {
		h ^= round(0, binary.LittleEndian.Uint64(p))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(p) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(p)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		p = p[4:]
	}
	for _, c := range p {
		h ^= uint64(c) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}
	return avalanche(h)
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

// hashString returns the xxhash64 of text under seed.
func hashString(seed uint64, text string) uint64 {
	var d digest
	d.reset(seed)
	for len(text) > 0 {
		var b [stripe]byte
		n := copy(b[:], text)
		d.write(b[:n])
		text = text[n:]
	}
	return d.sum()
}
