// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

const affine = "wait-and-widen;cache_affinity_virtual_nodes=10;cache_affinity_backend_selection_count="

// check proves the invariants that rings states.
func (s *rings) check(t *testing.T) {
	t.Helper()
	bytes := 0
	if s.root.newer != nil {
		for g := s.root.newer; g != &s.root; g = g.newer {
			bytes += g.bytes()
			if g.owner.ring != g || g.newer.older != g || g.newer != &s.root && g.newer.used < g.used {
				t.Fatal("the list is not in order of use, or a ring is not its owner's")
			}
		}
	}
	if bytes != s.bytes || bytes > max(s.limit, 0) {
		t.Fatalf("rings of %d bytes, counted %d, limit %d", bytes, s.bytes, s.limit)
	}
}

func TestRingAndNearestAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		d := defined(t, affine+strconv.Itoa(1+rng.IntN(6)))
		list, r := randomEndpoints(rng, 1+rng.IntN(20)), randomRequest(rng)
		with := slices.Clone(subsetOf(NewPicker(Limits{}), d, NewInstance(), r, list))
		without := subsetOf(NewPicker(Limits{RingBytes: -1}), d, NewInstance(), r, list)
		if !slices.Equal(with, without) {
			t.Fatalf("with a ring %v, without %v", with, without)
		}
	}
}

func subsetOf(p *Picker, d *Definition, i *Instance, r *Request, list []Endpoint) []int32 {
	p.begin(Query{d, i, r, list, 1})
	return p.affinity()
}

func TestRingFollowsTheEndpoints(t *testing.T) {
	d, p, i, list := defined(t, affine+"1"), NewPicker(Limits{}), NewInstance(), plainEndpoints(6)
	r := &Request{Model: "m", AffinityKey: "k"}
	subsetOf(p, d, i, r, list)
	built := i.ring
	subsetOf(p, d, i, r, list)
	if i.ring != built {
		t.Error("the ring was built twice for the same endpoints")
	}
	list = slices.Delete(list, 2, 3)
	got := slices.Clone(subsetOf(p, d, i, r, list))
	if i.ring == built || !slices.Equal(got, subsetOf(NewPicker(Limits{}), d, NewInstance(), r, list)) {
		t.Error("the ring of other endpoints was used")
	}
	p.rings.check(t)
}

func TestRingsStayWithinTheirMemory(t *testing.T) {
	d, list, r := defined(t, affine+"1"), plainEndpoints(8), &Request{Model: "m", AffinityKey: "k"}
	one := pointBytes * 80
	p := NewPicker(Limits{RingBytes: 3 * one})
	var owners []*Instance
	for range 5 {
		owners = append(owners, NewInstance())
	}
	kept := func() (n int) {
		for _, o := range owners {
			if o.ring != nil {
				n++
			}
		}
		return n
	}
	for _, o := range owners {
		subsetOf(p, d, o, r, list)
		p.rings.check(t)
	}
	if kept() != 3 || owners[3].ring != nil {
		t.Errorf("%d rings, want the first 3", kept())
	}
	r.Now = ringRest
	subsetOf(p, d, owners[0], r, list)
	subsetOf(p, d, owners[3], r, list)
	p.rings.check(t)
	if kept() != 3 || owners[0].ring == nil || owners[1].ring != nil || owners[3].ring == nil {
		t.Error("the ring unused longest did not make room")
	}
	if small := NewPicker(Limits{RingBytes: one - 1}); true {
		subsetOf(small, d, NewInstance(), r, list)
		small.rings.check(t)
		if small.rings.bytes != 0 {
			t.Error("a ring beyond the limit is kept")
		}
	}
}

// TestRingsUnderRandomUse checks the invariants after every step.
func TestRingsUnderRandomUse(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	p := NewPicker(Limits{RingBytes: 8000})
	owners := make([]Instance, 12)
	now := time.Duration(0)
	for range 2000 {
		now += time.Duration(rng.IntN(3000)) * time.Millisecond
		d := defined(t, affine+"2")
		subsetOf(p, d, &owners[rng.IntN(len(owners))], &Request{AffinityKey: "k", Now: now}, plainEndpoints(1+rng.IntN(8)))
		p.rings.check(t)
	}
}

func TestRingPointsAreBounded(t *testing.T) {
	told := 0
	p := NewPicker(Limits{MaxRingPoints: 40, Reduced: func(n int) { told = n }})
	d, i := defined(t, affine+"1"), NewInstance()
	r := &Request{AffinityKey: "k"}
	subsetOf(p, d, i, r, plainEndpoints(4))
	if len(i.ring.points) != 40 || told != 0 {
		t.Errorf("%d points, told %d, want 40 and nothing", len(i.ring.points), told)
	}
	subsetOf(p, d, i, r, plainEndpoints(8))
	if len(i.ring.points) != 40 || told != 5 {
		t.Errorf("%d points, told %d, want 40 and 5", len(i.ring.points), told)
	}
	subsetOf(p, d, i, r, plainEndpoints(100))
	if len(i.ring.points) != 100 || told != 1 {
		t.Errorf("%d points, told %d: each endpoint has one at least", len(i.ring.points), told)
	}
}
