// SPDX-License-Identifier: Apache-2.0

package hrw

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// fleet returns n nodes whose weights go round these.
func fleet(n int, weights ...float64) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{Seed(fmt.Sprintf("10.0.%d.%d:8000", i/256, i%256)), weights[i%len(weights)]}
	}
	return nodes
}

var fleets = []struct {
	name  string
	nodes []Node
}{
	{"one node", fleet(1, 1)},
	{"16 equal", fleet(16, 1)},
	{"16 of four weights", fleet(16, 1, 2, Weight(3), Weight(0.7))},
	{"10 equal and one a hundred times as large", append(fleet(10, 1), Node{Seed("large"), 100})},
	{"100 of two weights", fleet(100, 1, Weight(1.2))},
}

// keys calls f with n keys of a fixed sequence.
func keys(n int, f func(key uint64)) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		f(random.Uint64())
	}
}

// slowRank is the reference: all scores, sorted.
func slowRank(key uint64, nodes []Node) []int32 {
	type entry struct {
		index int32
		score float64
		mix   uint64
	}
	var all []entry
	for i, n := range nodes {
		if n.Weight > 0 {
			all = append(all, entry{int32(i), Score(key, n), mix(key, n.Seed)})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		switch {
		case a.score > b.score || a.score == b.score && a.mix > b.mix:
			return -1
		case a.score < b.score || a.mix < b.mix:
			return 1
		}
		return 0
	})
	order := []int32{}
	for _, x := range all {
		order = append(order, x.index)
	}
	return order
}

func TestFirstAndRankAgreeWithSortedScores(t *testing.T) {
	for _, f := range fleets {
		t.Run(f.name, func(t *testing.T) {
			keys(500, func(key uint64) {
				want := slowRank(key, f.nodes)
				if got := First(key, f.nodes); got != int(want[0]) {
					t.Fatalf("First(%#x) = %d, want %d", key, got, want[0])
				}
				for _, k := range []int{0, 1, 3, 31, 32, 33, 64, 200} {
					got := Rank([]int32{-7}, key, f.nodes, k)
					if cut := want[:min(k, len(want))]; !slices.Equal(got, append([]int32{-7}, cut...)) {
						t.Fatalf("Rank(%#x, %d) = %v, want -7 and %v", key, k, got, cut)
					}
				}
			})
		})
	}
}

func TestNobodyToName(t *testing.T) {
	tests := []struct {
		name  string
		nodes []Node
	}{
		{"no nodes", nil},
		{"no weight above 0", fleet(70, 0, -1)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := First(1, test.nodes); got != -1 {
				t.Errorf("First = %d, want -1", got)
			}
			if got := Rank(nil, 1, test.nodes, 3); len(got) != 0 {
				t.Errorf("Rank = %v, want none", got)
			}
		})
	}
}

func TestNodesWithoutWeightAreNeverNamed(t *testing.T) {
	nodes := fleet(100, 0, 1, -1, 2)
	keys(300, func(key uint64) {
		want := slowRank(key, nodes)
		if got := First(key, nodes); got != int(want[0]) {
			t.Fatalf("First(%#x) = %d, want %d", key, got, want[0])
		}
		if got := Rank(nil, key, nodes, len(nodes)); !slices.Equal(got, want) {
			t.Fatalf("Rank(%#x) = %v, want %v", key, got, want)
		}
	})
}

func TestOrderOfNodesDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, f := range fleets {
		t.Run(f.name, func(t *testing.T) {
			keys(200, func(key uint64) {
				shuffled := slices.Clone(f.nodes)
				random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				want, got := Rank(nil, key, f.nodes, 40), Rank(nil, key, shuffled, 40)
				for i := range want {
					if shuffled[got[i]] != f.nodes[want[i]] {
						t.Fatalf("key %#x: place %d is %v, want %v", key, i, shuffled[got[i]], f.nodes[want[i]])
					}
				}
				if first := First(key, shuffled); shuffled[first] != f.nodes[want[0]] {
					t.Fatalf("First(%#x) = %v, want %v", key, shuffled[first], f.nodes[want[0]])
				}
			})
		})
	}
}

// A node that joins takes keys and moves none between the others; seen the
// other way, a node that leaves gives up its own keys only.
func TestMovementIsMinimal(t *testing.T) {
	for _, f := range fleets {
		t.Run(f.name, func(t *testing.T) {
			joined := append(slices.Clone(f.nodes), Node{Seed("newcomer:8000"), f.nodes[0].Weight})
			last := len(f.nodes)
			moved, total := 0, 20000
			keys(total, func(key uint64) {
				before, after := First(key, f.nodes), First(key, joined)
				if after == last {
					moved++
				} else if after != before {
					t.Fatalf("key %#x moved from %d to %d", key, before, after)
				}
			})
			sum := 0.0
			for _, n := range joined {
				sum += n.Weight
			}
			due := joined[last].Weight / sum * float64(total)
			if got := float64(moved); got < 0.85*due-20 || got > 1.15*due+20 {
				t.Errorf("%d keys moved, want about %.0f", moved, due)
			}
		})
	}
}

// A node whose weight grows takes keys and gives none.
func TestGrowingWeightOnlyTakes(t *testing.T) {
	before := fleet(16, 1, 2, 4)
	after := slices.Clone(before)
	after[5].Weight *= Weight(1.2)
	keys(20000, func(key uint64) {
		was, is := First(key, before), First(key, after)
		if is != was && is != 5 {
			t.Fatalf("key %#x moved from %d to %d", key, was, is)
		}
	})
}

// TestSharesFollowWeights is a chi-square test at a level of 0.1 %; the keys
// are fixed, so it either always holds or never.
func TestSharesFollowWeights(t *testing.T) {
	critical := map[int]float64{15: 37.70, 10: 29.59, 99: 148.23}
	for _, f := range fleets[1:] {
		t.Run(f.name, func(t *testing.T) {
			won, sum, total := make([]float64, len(f.nodes)), 0.0, 200000
			keys(total, func(key uint64) { won[First(key, f.nodes)]++ })
			for _, n := range f.nodes {
				sum += n.Weight
			}
			chi := 0.0
			for i, n := range f.nodes {
				due := n.Weight / sum * float64(total)
				chi += (won[i] - due) * (won[i] - due) / due
			}
			if limit := critical[len(won)-1]; chi > limit {
				t.Errorf("chi-square is %.1f, want at most %.1f; won %v", chi, limit, won)
			}
		})
	}
}

// The second best of a node's keys are spread over the others, so its load is
// too when it fails.
func TestSecondPlacesAreSpread(t *testing.T) {
	nodes := fleet(16, 1)
	second, total := make([]float64, 16), 0.0
	keys(200000, func(key uint64) {
		if r := Rank(nil, key, nodes, 2); r[0] == 3 {
			second[r[1]]++
			total++
		}
	})
	chi := 0.0
	for i, n := range second {
		if i != 3 {
			chi += (n - total/15) * (n - total/15) / (total / 15)
		}
	}
	if chi > 36.12 { // 14 degrees of freedom, 0.1 %
		t.Errorf("chi-square is %.1f, want at most 36.12; second places %v", chi, second)
	}
}

func TestNothingAllocates(t *testing.T) {
	dst := make([]int32, 0, 100)
	for _, f := range fleets {
		if allocs := testing.AllocsPerRun(100, func() {
			First(1, f.nodes)
			dst = Rank(dst[:0], 1, f.nodes, 100)
		}); allocs != 0 {
			t.Errorf("%s: %v allocations, want 0", f.name, allocs)
		}
	}
}

// Weights are chosen so that two nodes have the same score.
func TestEqualScoresAreDecidedByTheMix(t *testing.T) {
	ties := 0
	keys(100, func(key uint64) {
		a, b := Node{Seed("a"), 1}, Node{Seed("b"), 0}
		b.Weight = Score(key, a) * -ln(unit(mix(key, b.Seed)))
		if Score(key, a) != Score(key, b) {
			return
		}
		ties++
		want := a
		if mix(key, b.Seed) > mix(key, a.Seed) {
			want = b
		}
		for _, nodes := range [][]Node{{a, b}, {b, a}} {
			if got := nodes[First(key, nodes)]; got != want {
				t.Errorf("First(%#x, %v) names %v, want %v", key, nodes, got, want)
			}
			if got := nodes[Rank(nil, key, nodes, 2)[0]]; got != want {
				t.Errorf("Rank(%#x, %v) begins with %v, want %v", key, nodes, got, want)
			}
		}
	})
	if ties < 10 {
		t.Errorf("%d of 100 keys tie, want at least 10", ties)
	}
}
