// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

type visited struct {
	e int
	p Placement
}

func newest(x *Table, now time.Duration, n int) (all []visited) {
	x.Newest(now, func(e int, p Placement) bool {
		all = append(all, visited{e, p})
		return len(all) < n
	})
	return all
}

func TestNewestVisitsAllEndpointsInOrderOfTime(t *testing.T) {
	x := newTable(t, Config{Endpoints: 3}, 0, 0, 0)
	x.Learn(1, blocks(5, 10, 11), 0, 1*time.Second)
	x.Learn(0, blocks(5, 10), 7, 2*time.Second)
	x.Assign(99, 2, 3*time.Second)
	want := []visited{
		{2, Placement{Hash: 99, Owner: true, Age: 1 * time.Second}},
		{0, Placement{Hash: 10, Tag: 5, Size: 263, Age: 2 * time.Second}},
		{1, Placement{Hash: 10, Tag: 5, Size: 256, Age: 3 * time.Second}},
		{1, Placement{Hash: 11, Tag: 5, Size: 256, Age: 3 * time.Second}},
	}
	if got := newest(x, 4*time.Second, 100); !slices.Equal(got, want) {
		t.Errorf("Newest visits\n%+v, want\n%+v", got, want)
	}
	if got := newest(x, 4*time.Second, 2); !slices.Equal(got, want[:2]) {
		t.Errorf("Newest stopped at the second visits\n%+v, want\n%+v", got, want[:2])
	}
}

// A module update hands the newest placements to a VM whose clock starts at 0.
func TestPlacedFromTheEndNewestMakesTheSameTable(t *testing.T) {
	old, _ := fullTable(t, 20, 40<<10)
	random := rand.New(rand.NewPCG(3, 4))
	now := time.Hour
	for range 500 {
		now += time.Duration(random.IntN(30)) * time.Millisecond
		e := random.IntN(20)
		old.Learn(e, benchChain(random.Uint64N(50), 20, 5), random.Uint32N(100), now)
		old.Assign(random.Uint64N(100), e, now)
	}
	list := newest(old, now, 1<<20)
	fresh, _ := fullTable(t, 20, 40<<10)
	for _, v := range slices.Backward(list) {
		fresh.Place(v.e, v.p, 0)
	}
	for e := range 20 {
		was := lists(old, e)
		if got := lists(fresh, e); len(got) == 0 || !slices.Equal(got, was) {
			t.Fatalf("endpoint %d holds\n%+v, want\n%+v", e, got, was)
		}
		if got, want := fresh.Age(e, time.Second), old.Age(e, now+time.Second); got != want {
			t.Errorf("Age(%d) = %v, want %v", e, got, want)
		}
	}
	checkBothDirections(t, fresh)
	checkTime(t, fresh)
}

// lists returns e's placements, newest first.
func lists(x *Table, e int) (all []Placement) {
	x.Newest(0, func(at int, p Placement) bool {
		if at == e {
			all = append(all, p)
		}
		return true
	})
	return all
}

func TestLaterAssignmentStands(t *testing.T) {
	x := newTable(t, Config{Endpoints: 2}, 0, 0)
	now := 10 * time.Second
	x.Assign(1, 0, now)
	steps := []struct {
		name string
		e    int
		age  time.Duration
		want int
	}{
		{"another worker's older one", 1, time.Second, 0},
		{"another worker's at the same time", 1, 0, 1},
		{"own older one", 0, time.Second, 1},
	}
	for _, step := range steps {
		x.Place(step.e, Placement{Hash: 1, Owner: true, Age: step.age}, now)
		if e, ok := x.Owner(1); e != step.want || !ok {
			t.Errorf("%s: Owner = %d, %v, want %d, true", step.name, e, ok, step.want)
		}
	}
	x.Remove(1)
	if e, ok := x.Owner(1); ok {
		t.Errorf("Owner = %d after it was removed, want none", e)
	}
}

func TestOwnedKeysAndBlocksWithOneHashDontMeet(t *testing.T) {
	x := newTable(t, Config{Endpoints: 2}, 0, 0)
	x.Assign(10, 0, 0)
	c := blocks(0, 10)
	c.AnyTag = true
	if got, want := matches(x, c), []uint32{0, 0}; !slices.Equal(got, want) {
		t.Errorf("Match of an owned key = %v, want %v", got, want)
	}
	x.Learn(1, blocks(0, 10), 0, 0)
	x.Assign(10, 1, 0)
	x.Shrink(1, blocks(0, 10), 0)
	if e, ok := x.Owner(10); e != 1 || !ok {
		t.Errorf("Owner = %d, %v, want 1, true", e, ok)
	}
}

func TestSince(t *testing.T) {
	x, err := New(Config{Endpoints: 2, Slots: 8, Nodes: 8})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := x.Add(0)
	other, _ := x.Add(0)
	x.Learn(e, Chain{Hashes: []uint64{7}, Ends: []uint32{256}, Tag: 1}, 0, time.Second)
	tests := []struct {
		name      string
		e         int
		hash, tag uint64
		want      time.Duration
		ok        bool
	}{
		{"held", e, 7, 1, 2 * time.Second, true},
		{"under another tag", e, 7, 2, 0, false},
		{"another block", e, 8, 1, 0, false},
		{"on another endpoint", other, 7, 1, 0, false},
		{"on an endpoint that is none", 9, 7, 1, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := x.Since(tt.e, tt.hash, tt.tag, 3*time.Second); got != tt.want || ok != tt.ok {
				t.Errorf("Since = %v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}
