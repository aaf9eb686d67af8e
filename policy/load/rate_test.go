// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"testing"
)

// TestRateOfOneSampledEndpointIsEverybodys: only one endpoint is ever sampled,
// and the prior is far off. The others must not look slow beside it.
func TestRateOfOneSampledEndpointIsEverybodys(t *testing.T) {
	for _, truth := range []float64{320_000, 500} {
		pool := NewEstimate(PrefillPrior(), 0)
		a, b := NewRate(&pool, 0), NewRate(&pool, 0)
		for i := range 400 {
			a.Observe(truth * []float64{0.9, 1, 1.1}[i%3])
			if ratio := a.Value() / b.Value(); ratio > 1.5 || ratio < 1/1.5 {
				t.Fatalf("truth %v, after %d samples one is %.2f times the other", truth, i+1, ratio)
			}
		}
		if got := b.Value(); math.Abs(got-truth) > 0.2*truth {
			t.Errorf("the endpoint without samples has %.0f, want about %.0f", got, truth)
		}
	}
}

func TestRateTellsAHalfSpeedEndpointApart(t *testing.T) {
	pool := NewEstimate(PrefillPrior(), 0)
	rates := make([]Rate, 4)
	for i := range rates {
		rates[i] = NewRate(&pool, 0)
	}
	for range 400 {
		rates[0].Observe(4000)
		for i := 1; i < len(rates); i++ {
			rates[i].Observe(8000)
		}
	}
	if slow, fast := rates[0].Value(), rates[1].Value(); slow > 0.65*fast || slow < 0.4*fast {
		t.Errorf("an endpoint at half speed has %.0f beside %.0f", slow, fast)
	}
}

func TestConfiguredRateStays(t *testing.T) {
	pool := NewEstimate(PrefillPrior(), 0)
	r := NewRate(&pool, 123)
	r.Observe(9000)
	if r.Value() != 123 || pool.Samples() != 0 {
		t.Errorf("a configured rate became %v, the pool's took %d samples", r.Value(), pool.Samples())
	}
}
