// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// fleetSizes are a small pool, a large one, and the most that a table takes.
var fleetSizes = []int{16, 256, 1024}

// benchRequest is a turn of a conversation of 64 blocks (16 KiB and more).
func benchRequest(conversation uint64) *Request {
	r := &Request{
		Now: time.Minute, TagKnown: true, LengthKnown: true, Complete: true,
		HeadKnown: true, KeyKnown: true, Key: conversation, Tag: 7, TagBytes: 4000,
	}
	for k := range 64 {
		r.Hashes = append(r.Hashes, conversation*1000+uint64(k))
		r.Ends = append(r.Ends, uint32(k+1)*256)
	}
	for k := range 16 { // a head that all share
		r.Hashes[k] = uint64(k)
	}
	r.Head, r.HeadHash = 16*256, 15
	r.Prev, r.Length = 60*256, 66*256+4000
	return r
}

// benchPool is a pool that has seen four conversations on each endpoint.
func benchPool(tb testing.TB, endpoints, gateways int, d Definition) *Pool {
	p := newTestPool(tb, Settings{Gateways: gateways}, d, specs(endpoints))
	for c := range uint64(4 * endpoints) {
		r := benchRequest(c)
		r.Now = time.Second + time.Duration(c)*time.Millisecond
		e := p.view.Endpoints()[int(c)%endpoints]
		p.Learn(e, r, 0)
		var f load.Flight
		p.Start(&f, e, &Decision{Uncached: 1000}, r, true)
	}
	for _, e := range p.view.Endpoints() {
		p.view.Report(e, load.Stats{At: 59 * time.Second, Waiting: 5, Running: 9, KVUse: 0.5})
	}
	return p
}

func BenchmarkPick(b *testing.B) {
	for _, n := range fleetSizes {
		for _, gateways := range []int{1, 4} {
			b.Run(fmt.Sprintf("endpoints=%d/gateways=%d", n, gateways), func(b *testing.B) {
				p := benchPool(b, n, gateways, DefaultPrefixAware())
				r := benchRequest(1)
				b.ReportAllocs()
				for b.Loop() {
					p.Pick(nil, r)
				}
			})
		}
	}
}

func BenchmarkPickOthers(b *testing.B) {
	for _, d := range Definitions()[1:] {
		for _, n := range fleetSizes {
			b.Run(fmt.Sprintf("%s/endpoints=%d", d.Name(), n), func(b *testing.B) {
				p := benchPool(b, n, 1, d)
				r := benchRequest(1)
				b.ReportAllocs()
				for b.Loop() {
					p.Pick(nil, r)
				}
			})
		}
	}
}
