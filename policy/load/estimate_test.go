// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEstimateFindsTheRate: samples are the true rate times noise, a quarter
// of them slowed down to a tenth by what nobody saw.
func TestEstimateFindsTheRate(t *testing.T) {
	for _, truth := range []float64{500, 8000, 40_000} {
		random := rand.New(rand.NewPCG(1, uint64(truth)))
		e := NewEstimate(PrefillPrior(), 0)
		for range 400 {
			sample := truth * math.Exp(0.1*random.NormFloat64())
			if random.IntN(4) == 0 {
				sample /= 10
			}
			e.Observe(sample)
		}
		if got := e.Value(); got < 0.85*truth || got > 1.2*truth {
			t.Errorf("rate %.0f is estimated as %.0f", truth, got)
		}
	}
}

func TestEstimateMovesOneStepForAnOutlier(t *testing.T) {
	e := NewEstimate(PrefillPrior(), 0)
	for range 200 {
		e.Observe(8000)
	}
	before := e.Value()
	e.Observe(1e12)
	if got := e.Value() / before; got > 1.05 {
		t.Errorf("one sample a hundred million times too high moves the estimate by %.3f", got)
	}
}

func TestEstimateIgnoresWhatIsNoRate(t *testing.T) {
	e := NewEstimate(PrefillPrior(), 0)
	for _, x := range []float64{0, -5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		e.Observe(x)
	}
	if e.Samples() != 0 || e.Value() != PrefillPrior().Value {
		t.Errorf("%d samples taken, value %.0f", e.Samples(), e.Value())
	}
}

func TestEstimateStaysWithinBounds(t *testing.T) {
	for _, x := range []float64{1e-300, 1e300} {
		e := NewEstimate(RatioPrior(), 0)
		for range 10_000 {
			e.Observe(x)
		}
		if p := RatioPrior(); e.Value() < p.Low || e.Value() > p.High {
			t.Errorf("samples of %g lead to %g, outside %g … %g", x, e.Value(), p.Low, p.High)
		}
	}
}
