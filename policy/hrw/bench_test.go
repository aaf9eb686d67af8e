// SPDX-License-Identifier: Apache-2.0

package hrw

import (
	"fmt"
	"testing"
)

// benchFleets are a small pool, the default limit and the highest limit of the
// placement table, each with equal and with different weights.
var benchFleets = []struct {
	name    string
	weights []float64
}{
	{"equal", []float64{1}},
	{"different", []float64{1, 2, Weight(3), Weight(0.7)}},
}

var benchSizes = []int{10, 16, 256, 1024}

func BenchmarkFirst(b *testing.B) {
	for _, f := range benchFleets {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("weights=%s/nodes=%d", f.name, n), func(b *testing.B) {
				nodes, key := fleet(n, f.weights...), uint64(0)
				b.ReportAllocs()
				for b.Loop() {
					key += 0x9e3779b97f4a7c15
					First(key, nodes)
				}
			})
		}
	}
}

func BenchmarkRank(b *testing.B) {
	for _, f := range benchFleets {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("k=3/weights=%s/nodes=%d", f.name, n), func(b *testing.B) {
				nodes, key, dst := fleet(n, f.weights...), uint64(0), make([]int32, 0, 3)
				b.ReportAllocs()
				for b.Loop() {
					key += 0x9e3779b97f4a7c15
					dst = Rank(dst[:0], key, nodes, 3)
				}
			})
		}
	}
}
