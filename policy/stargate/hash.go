// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// The hash of fields is XXH3-64 with seed 0 over a version byte and, for each
// field, its tag, 0xFF, its length as 64 bits little-endian, and its value. So
// no two lists of fields give the same bytes.
const hashVersion = 1

// The tags.
const (
	tagSeed        = "seed\xff"
	tagRoutingKey  = "routing_key\xff"
	tagModel       = "model_id\xff"
	tagAffinityKey = "cache_affinity_key\xff"
	tagEndpoint    = "cluster_id\xff"
	tagVirtualNode = "virtual_node\xff"
)

// fields is the buffer of a hash. Fields that many hashes begin with are written
// once, and the buffer is cut back to where they end for the next hash.
type fields []byte

// start begins with the fields that all hashes of a target and definition have.
func (f fields) start(d *Definition, r *Request) fields {
	f = append(f[:0], hashVersion)
	return f.add(tagSeed, d.seed).add(tagRoutingKey, r.RoutingKey).add(tagModel, r.Model)
}

func (f fields) add(tag, value string) fields {
	f = append(f, tag...)
	f = binary.LittleEndian.AppendUint64(f, uint64(len(value)))
	return append(f, value...)
}

// addNode adds the number of a virtual node, which has 8 bytes everywhere.
func (f fields) addNode(n uint64) fields {
	f = append(f, tagVirtualNode...)
	f = binary.LittleEndian.AppendUint64(f, 8)
	return binary.LittleEndian.AppendUint64(f, n)
}

// setNode overwrites the number that addNode added last.
func (f fields) setNode(n uint64) { binary.LittleEndian.PutUint64(f[len(f)-8:], n) }

func (f fields) sum() uint64 { return xxh3.Hash(f) }
