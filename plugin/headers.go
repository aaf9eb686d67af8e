// SPDX-License-Identifier: Apache-2.0

package main

import "encoding/binary"

// headerMap is a header map in the wire form of the ABI: a count, that many
// pairs of lengths, then every name and value with a NUL behind each; numbers
// are 32-bit little-endian. Names are lower-case. It borrows the host's bytes.
type headerMap []byte

// count returns the number of header lines, 0 for a map that is cut short.
func (m headerMap) count() int {
	if len(m) < 4 {
		return 0
	}
	n := int(binary.LittleEndian.Uint32(m))
	if n < 0 || n > (len(m)-4)/10 {
		return 0
	}
	return n
}

// lines iterates over all header lines in order. It stops early where the
// lengths do not fit the bytes.
func (m headerMap) lines(yield func(name, value []byte) bool) {
	n := m.count()
	at := 4 + 8*n
	for i := range n {
		name := int(binary.LittleEndian.Uint32(m[4+8*i:]))
		value := int(binary.LittleEndian.Uint32(m[8+8*i:]))
		end := at + name + value + 2
		if name < 0 || value < 0 || end < at || end > len(m) {
			return
		}
		if !yield(m[at:at+name], m[at+name+1:end-1]) {
			return
		}
		at = end
	}
}

// get returns the first line of a header.
func (m headerMap) get(name string) (value []byte, ok bool) {
	for n, v := range m.lines {
		if string(n) == name {
			return v, true
		}
	}
	return nil, false
}

// headerMapOf returns lines in wire form.
func headerMapOf(lines [][2]string) headerMap {
	dst := binary.LittleEndian.AppendUint32(nil, uint32(len(lines)))
	for _, l := range lines {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l[0])))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l[1])))
	}
	for _, l := range lines {
		dst = append(append(dst, l[0]...), 0)
		dst = append(append(dst, l[1]...), 0)
	}
	return dst
}
