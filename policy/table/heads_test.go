// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestRateOfEvenArrivals(t *testing.T) {
	x := newTable(t, Config{Endpoints: 1}, 0)
	x.Arrive(1, 2, 0)
	if got := x.Rate(1, 2, 0); got != 0 {
		t.Errorf("Rate of a head that nobody holds = %v, want 0", got)
	}
	x.Learn(0, blocks(2, 1), 0, 0)
	x.Arrive(1, 2, 0)
	if got := x.Rate(1, 2, 0); got != 0 {
		t.Errorf("Rate after one arrival = %v, want 0", got)
	}
	now := time.Duration(0)
	for range 10 {
		now += 250 * time.Millisecond
		x.Arrive(1, 2, now)
	}
	tests := []struct {
		name  string
		tag   uint64
		since time.Duration
		want  float64
	}{
		{"at an arrival", 2, 0, 4},
		{"after four gaps of silence", 2, time.Second, 4},
		{"after sixteen gaps of silence", 2, 4 * time.Second, 1},
		{"another tag", 3, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := x.Rate(1, test.tag, now+test.since); math.Abs(got-test.want) > 1e-6 {
				t.Errorf("Rate = %v, want %v", got, test.want)
			}
		})
	}
}

func TestRateOfPoissonArrivals(t *testing.T) {
	for _, perSecond := range []float64{0.1, 8, 300} {
		x := newTable(t, Config{Endpoints: 1}, 0)
		x.Learn(0, blocks(0, 1), 0, 0)
		random := rand.New(rand.NewPCG(1, 1))
		now, gaps, n := 0.0, 0.0, 4000
		for range n {
			now += random.ExpFloat64() / perSecond
			at := time.Duration(now * float64(time.Second))
			x.Arrive(1, 0, at)
			if r := x.Rate(1, 0, at); r > 0 {
				gaps += 1 / r
			}
		}
		if got := float64(n) / gaps; math.Abs(got/perSecond-1) > 0.05 {
			t.Errorf("mean gap tells %v arrivals/s, want %v within 5 %%", got, perSecond)
		}
	}
}

func TestArrivalsAreForgottenWithTheLastHolder(t *testing.T) {
	x := newTable(t, Config{Endpoints: 2}, 0, 0)
	x.Learn(0, blocks(0, 1), 0, 0)
	x.Learn(1, blocks(0, 1), 0, 0)
	x.Arrive(1, 0, 0)
	x.Arrive(1, 0, time.Second)
	x.Reset(0)
	if got := x.Rate(1, 0, time.Second); got != 1 {
		t.Errorf("Rate while one holder is left = %v, want 1", got)
	}
	x.Reset(1)
	x.Learn(0, blocks(0, 1), 0, time.Second)
	if got := x.Rate(1, 0, time.Second); got != 0 {
		t.Errorf("Rate after the head was gone = %v, want 0", got)
	}
}

func TestAge(t *testing.T) {
	const second = time.Second
	tests := []struct {
		name     string
		capacity uint64
		learn    []time.Duration // one block of 256 bytes each
		now      time.Duration
		want     time.Duration
	}{
		{"empty", 1024, nil, 5 * second, AgeWhenEmpty},
		{"full list", 512, []time.Duration{second, 2 * second}, 5 * second, 4 * second},
		{"half full list", 1024, []time.Duration{second, 2 * second}, 5 * second, 8 * second},
		{"oldest gone", 512, []time.Duration{second, 2 * second, 3 * second}, 5 * second, 3 * second},
		{"just touched", 1024, []time.Duration{second}, second, 0},
		{"unknown capacity, a quarter of the arena", 0, []time.Duration{second, second}, 5 * second, 16 * second},
		{"clock behind the latest touch", 512, []time.Duration{second, 3 * second}, 2 * second, 2 * second},
		{"capacity beyond all bounds", 1 << 63, []time.Duration{0}, 1e6 * time.Hour, 1 << 62},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := newTable(t, Config{Endpoints: 1, Nodes: 8}, test.capacity)
			for i, at := range test.learn {
				x.Learn(0, blocks(0, uint64(i)), 0, at)
			}
			if got := x.Age(0, test.now); got != test.want {
				t.Errorf("Age = %v, want %v", got, test.want)
			}
		})
	}
}

func TestListsStayInOrderWhenMillisecondsWrap(t *testing.T) {
	x := newTable(t, Config{Endpoints: 1}, 2*256)
	const day = 24 * time.Hour
	x.Learn(0, blocks(0, 1), 0, 49*day)
	x.Learn(0, blocks(0, 2), 0, 80*day) // older than 2^31 ms, across a wrap
	x.Learn(0, blocks(0, 3), 0, 81*day)
	if matches(x, blocks(0, 1))[0] != 0 || matches(x, blocks(0, 2))[0] != 256 {
		t.Error("the oldest block isn't the one that was evicted")
	}
	if got := x.Age(0, 82*day); got != 2*day {
		t.Errorf("Age = %v, want %v", got, 2*day)
	}
}
