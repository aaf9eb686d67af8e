// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestRateOfPoissonArrivals: read before each arrival, the average is the rate.
func TestRateOfPoissonArrivals(t *testing.T) {
	for _, perSecond := range []float64{0.01, 1, 50} {
		random := rand.New(rand.NewPCG(1, 1))
		var r rate
		now := time.Hour
		const samples = 4000
		sum := 0.0
		for k := 0; k < samples; {
			now += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
			if now > time.Hour+6*rateMemory { // the memory has filled
				sum += r.at(now) / samples
				k++
			}
			r.arrive(now)
		}
		if math.Abs(sum/perSecond-1) > 0.1 {
			t.Errorf("%v arrivals/s are taken for %.4f", perSecond, sum)
		}
	}
}

// TestHeadsRememberWhatIsUsed: ten heads that are used all the time stay
// known among ten thousand that come once.
func TestHeadsRememberWhatIsUsed(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	var h heads
	now := time.Minute
	for range 10_000 {
		now += 50 * time.Millisecond
		h.arrive(random.Uint64()|1<<63, now)
		h.arrive(1+random.Uint64()%10, now)
	}
	for key := range uint64(10) {
		if got := h.at(key+1, now); got < 1.2 || got > 2.8 {
			t.Errorf("head %d: %.2f arrivals/s, want about 2", key+1, got)
		}
	}
	if got := h.all.at(now); got < 38 || got > 42 {
		t.Errorf("%.1f arrivals/s of all, want 40", got)
	}
	if got := h.at(77, now); got != 0 {
		t.Errorf("%.2f arrivals/s of a head that never came", got)
	}
}
