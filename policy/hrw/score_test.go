// SPDX-License-Identifier: Apache-2.0

package hrw

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// The outputs of splitmix64 for the state 1234567 are those that
// https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64 lists.
func TestMixIsSplitmix64(t *testing.T) {
	want := []uint64{
		6457827717110365317, 3203168211198807973, 9817491932198370423,
		4593380528125082431, 16408922859458223821,
	}
	state := uint64(1234567)
	for i := range want {
		state += 0x9e3779b97f4a7c15
		if got := mix(state, 0); got != want[i] {
			t.Errorf("output %d = %d, want %d", i, got, want[i])
		}
	}
}

// The values for seed 0 are those of the reference implementation,
// https://github.com/Cyan4973/xxHash.
func TestSeedIsXXHash64(t *testing.T) {
	for id, want := range map[string]uint64{"": 0xef46db3751d8e999, "abc": 0x44bc2cf5ad770999} {
		if got := Seed(id); got != want {
			t.Errorf("Seed(%q) = %#x, want %#x", id, got, want)
		}
	}
}

// TestGolden compares with scores and orders computed in Python with 60
// digits (testdata/golden.py).
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		cases++
		var nodes []Node
		var order []int32
		fields := strings.Fields(line)
		key := number(t, fields[0])
		for _, field := range fields[1:] {
			part := strings.Split(field, ":")
			if len(part) == 1 {
				order = append(order, int32(number(t, field)))
				continue
			}
			n := Node{number(t, part[0]), float(t, part[1])}
			nodes = append(nodes, n)
			if got, want := Score(key, n), float(t, part[2]); math.Abs(got-want) > 5*0x1p-53*want {
				t.Errorf("Score(%#x, %v) = %v, want %v", key, n, got, want)
			}
		}
		if got := Rank(nil, key, nodes, 100); !slices.Equal(got, order) {
			t.Errorf("Rank(%#x) = %v, want %v", key, got, order)
		}
		if got := First(key, nodes); got != int(order[0]) {
			t.Errorf("First(%#x) = %d, want %d", key, got, order[0])
		}
	}
	if cases != 200 {
		t.Errorf("%d cases, want 200", cases)
	}
}

func number(t *testing.T, s string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func float(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestScoresAreTheSameBitsEverywhere pins 100,000 scores and weights to the
// last bit. Run it on each architecture that is built for.
func TestScoresAreTheSameBitsEverywhere(t *testing.T) {
	digest := xxhash.New()
	var b [8]byte
	random := rand.New(rand.NewPCG(9, 9))
	for range 100000 {
		n := Node{random.Uint64(), Weight(random.ExpFloat64() * 1e6)}
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(Score(random.Uint64(), n)))
		digest.Write(b[:])
	}
	if got, want := digest.Sum64(), uint64(0xebe9b9075df8385c); got != want {
		t.Errorf("digest of scores = %#x, want %#x", got, want)
	}
}

// edges are mixes at the ends of ln's ranges.
func edges() []uint64 {
	all := []uint64{0, math.MaxUint64, 0xb504f333f9de6484} // the last is √½
	for shift := range 64 {
		all = append(all, 1<<shift, 1<<shift-1, ^uint64(0)>>shift, ^(uint64(1) << shift))
	}
	return all
}

func TestLnIsWithinFourUnitsInTheLastPlace(t *testing.T) {
	check := func(m uint64) {
		u := unit(m)
		if !(u > 0 && u < 1) {
			t.Fatalf("unit(%#x) = %v, want it between 0 and 1", m, u)
		}
		// math.Log is within 1 unit.
		got, want := ln(u), math.Log(u)
		if unitInLastPlace := math.Nextafter(want, -99) - want; math.Abs(got-want) > -5*unitInLastPlace {
			t.Fatalf("ln(%v) = %v, want %v", u, got, want)
		}
	}
	for _, m := range edges() {
		check(m)
	}
	keys(200000, check)
	// Values of u near 1, which the winners of large fleets have.
	keys(200000, func(key uint64) { check(^(key >> (key % 40))) })
}

// The order of scores of one weight is never against the order of mixes.
func TestScoreNeverFallsWhileTheMixRises(t *testing.T) {
	check := func(m uint64) {
		next := m + 1<<16
		if next > m && score(next, 1) < score(m, 1) {
			t.Fatalf("score(%#x) = %v is below score(%#x) = %v", next, score(next, 1), m, score(m, 1))
		}
	}
	for _, m := range edges() {
		for below := range uint64(20) {
			check(m - below<<16)
		}
	}
	keys(200000, check)
	keys(200000, func(key uint64) { check(^(key >> (key % 40))) })
}

// hopeless must never discard a score that isn't below the best.
func TestHopelessIsRight(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	discarded, lower := 0, 0
	keys(200000, func(m uint64) {
		weight := Weight(random.Float64())
		s := score(m, weight)
		if hopeless(m, weight, reach(s)) {
			t.Fatalf("hopeless(%#x, %v) discards its own score %v", m, weight, s)
		}
		best := s * (1 + random.ExpFloat64())
		lower++
		if hopeless(m, weight, reach(best)) {
			discarded++
		}
	})
	if discarded < lower/2 {
		t.Errorf("hopeless discards %d of %d lower scores, want at least half", discarded, lower)
	}
}

func TestWeight(t *testing.T) {
	quarter := math.Pow(2, 0.25)
	tests := []struct {
		name     string
		capacity float64
		want     float64
	}{
		{"a power of two stays", 1024, 1024},
		{"below a power of two", 1000, 1024},
		{"an eighth of an octave above", 1024 * math.Pow(2, 0.124), 1024},
		{"more than an eighth above", 1024 * math.Pow(2, 0.126), 1024 * quarter},
		{"half an octave", 1024 * math.Sqrt2, 1024 * math.Sqrt2},
		{"three quarters", 1024 / quarter, 1024 / quarter},
		{"just below the next octave", 1024 * math.Pow(2, -0.124), 1024},
		{"a fraction", 0.3, math.Pow(2, -1.75)},
		{"not known", 0, 1},
		{"negative", -5, 1},
		{"not a number", math.NaN(), 1},
		{"infinite", math.Inf(1), 1 << 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Weight(test.capacity); math.Abs(got-test.want) > 1e-15*test.want {
				t.Errorf("Weight(%v) = %v, want %v", test.capacity, got, test.want)
			}
		})
	}
}

func TestWeightIsWithinNinePercentAndSettled(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 10000 {
		capacity := math.Exp(random.NormFloat64() * 15)
		w := Weight(capacity)
		if ratio := w / capacity; ratio < 0.917 || ratio > 1.091 {
			t.Fatalf("Weight(%v) = %v", capacity, w)
		}
		if again := Weight(w * (1 + 0.08*(2*random.Float64()-1))); again != w {
			t.Fatalf("Weight of a capacity 8 %% around %v = %v", w, again)
		}
	}
}

// Two workers that read capacities a percent apart name the same node for
// nearly all keys: only nodes near a border between two weights can differ.
func TestWobblingCapacitiesNameTheSameNode(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	differ, total := 0, 0
	for range 200 {
		one, other := fleet(16, 1), fleet(16, 1)
		for i := range one {
			capacity := 1e5 * math.Exp(random.NormFloat64())
			one[i].Weight = Weight(capacity)
			other[i].Weight = Weight(capacity * (0.99 + 0.02*random.Float64()))
		}
		keys(200, func(key uint64) {
			total++
			if First(key, one) != First(key, other) {
				differ++
			}
		})
	}
	if share := float64(differ) / float64(total); share > 0.01 {
		t.Errorf("%.2f %% of keys differ, want at most 1 %%", 100*share)
	}
}
