// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"time"
)

// rate is a moving average of arrivals per second that forgets by time: each
// arrival adds 1/τ, and the sum decays as e^(−t/τ). For Poisson arrivals it is
// right on average whenever it is read before the arrival at hand is added,
// and bursts count as the few arrivals they are.
type rate struct {
	value float64
	last  time.Duration
}

// rateMemory is τ: long enough to tell one use in some minutes from none, short
// enough to follow the day.
const rateMemory = 120 * time.Second

// at is the rate at this moment.
func (r *rate) at(now time.Duration) float64 {
	return r.value * math.Exp(-(now-r.last).Seconds()/rateMemory.Seconds())
}

// arrive counts one arrival.
func (r *rate) arrive(now time.Duration) {
	r.value = r.at(now) + 1/rateMemory.Seconds()
	r.last = now
}

// heads remembers how often heads arrive, apart from the placements: an
// endpoint's list may have lost a head that is used all the time elsewhere.
// Sets of four, in which the head that was away longest makes room, so what is
// used often stays and what is forgotten is rare.
type heads struct {
	sets [headSets][headWays]headRate
	all  rate // arrivals of all requests
}

type headRate struct {
	key uint64
	rate
}

const (
	headSets = 256
	headWays = 4
)

// at is the arrivals per second of a head, 0 if it isn't known.
func (h *heads) at(key uint64, now time.Duration) float64 {
	set := h.set(key)
	for i := range set {
		if set[i].key == key {
			return set[i].at(now)
		}
	}
	return 0
}

// arrive counts a request with this head; 0 stands for none.
func (h *heads) arrive(key uint64, now time.Duration) {
	h.all.arrive(now)
	if key == 0 {
		return
	}
	set := h.set(key)
	oldest := 0
	for i := range set {
		if set[i].key == key {
			set[i].arrive(now)
			return
		}
		if set[i].last < set[oldest].last {
			oldest = i
		}
	}
	set[oldest] = headRate{key: key}
	set[oldest].arrive(now)
}

func (h *heads) set(key uint64) *[headWays]headRate { return &h.sets[key%headSets] }
