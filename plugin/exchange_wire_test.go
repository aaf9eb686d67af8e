// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

func TestBatchRoundTrip(t *testing.T) {
	list := []news{
		{hash: 1, tag: 2, size: 256, kind: made, endpoint: 70, age: time.Second},
		{hash: 3, tag: 2, size: 1 << 30, kind: made, endpoint: 71, age: 3 * time.Hour},
		{hash: 4, kind: owned, endpoint: 70},
		{hash: 5, tag: 6, size: 1, kind: gone, endpoint: 72},
		{kind: restarted, endpoint: 71},
	}
	var names nameList
	sent := batch{vm: 9, number: 7}
	got, ok := parseBatch(sent.append(nil, list, &names))
	if !ok || got.vm != 9 || got.number != 7 {
		t.Fatalf("parseBatch = %+v, %v", got, ok)
	}
	want := []record{
		{made, table.Placement{Hash: 1, Tag: 2, Size: 256, Age: time.Second}},
		{made, table.Placement{Hash: 3, Tag: 2, Size: sizeMost, Age: 65535 * ageUnit}},
		{owned, table.Placement{Hash: 4, Owner: true}},
		{gone, table.Placement{Hash: 5, Tag: 6, Size: 1}},
		{restarted, table.Placement{}},
	}
	i := 0
	for name, r := range got.records {
		if r != want[i] || got.name(name) != list[i].endpoint {
			t.Errorf("record %d = %+v of %d, want %+v of %d", i, r, got.name(name), want[i], list[i].endpoint)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d records, want %d", i, len(want))
	}
}

func TestHeadRoundTrip(t *testing.T) {
	h := head{wants: true, wall: 123, vm: 9, segments: 5}
	b := appendSum(h.append(nil), 70, load.Share{Queued: 1000, InFlight: 3})
	got, ok := parseHead(b)
	if !ok || got.wants != h.wants || got.wall != h.wall || got.vm != h.vm || got.segments != h.segments {
		t.Errorf("parseHead = %+v, %v; want %+v", got, ok, h)
	}
	for name, s := range got.sums {
		if name != 70 || s != (load.Share{Queued: 1000, InFlight: 3}) {
			t.Errorf("sum of %d = %+v", name, s)
		}
	}
}

// TestWireTakesAnything: what stands in shared data may come from anybody.
func TestWireTakesAnything(t *testing.T) {
	var names nameList
	b := batch{vm: 9}
	whole := b.append(nil, slices.Repeat([]news{{hash: 1, endpoint: 70}, {hash: 2, endpoint: 71}}, 4), &names)
	for n := range len(whole) {
		if _, ok := parseBatch(whole[:n]); ok {
			t.Errorf("a batch cut at %d of %d bytes is read", n, len(whole))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range 100_000 {
		p := slices.Clone(whole)
		for range 1 + r.IntN(4) {
			p[r.IntN(len(p))] = byte(r.Uint32())
		}
		if got, ok := parseBatch(p); ok {
			read++
			for name, x := range got.records {
				_, _ = got.name(name), x
			}
		}
		if h, ok := parseHead(p[:headSize+2*sumSize]); ok {
			for range h.sums {
				read++
			}
		}
	}
	if read == 0 {
		t.Error("nothing that was changed is read: the test shows nothing")
	}
}
