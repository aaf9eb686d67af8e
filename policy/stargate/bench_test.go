// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{16, 256, 1024} {
		rng := rand.New(rand.NewPCG(1, 1))
		list, r := randomEndpoints(rng, n), randomRequest(rng)
		for _, e := range []string{
			"power-of-n", "wait-and-widen", "wait-and-widen;cache_affinity_backend_selection_count=2",
			"pulsar", "pulsar-wait-and-widen",
		} {
			b.Run(e+"/endpoints="+strconv.Itoa(n), func(b *testing.B) {
				d, p, i, buf := defined(b, e), NewPicker(Limits{}), NewInstance(), make([]int, 0, 3)
				b.ReportAllocs()
				for b.Loop() {
					r.Draw++
					p.Pick(buf, Query{d, i, r, list, 3})
				}
			})
		}
	}
}
