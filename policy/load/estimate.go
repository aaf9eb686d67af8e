// SPDX-License-Identifier: Apache-2.0

package load

import "math"

// Estimate learns a positive quantity, such as a rate, from noisy samples: it
// follows their quantile q by steps in the logarithm,
//
//	x ← x·exp(+η·q)      if the sample is above x
//	x ← x·exp(−η·(1−q))  otherwise
//
// which is at rest where a share q of the samples lies below (Robbins and
// Monro, "A Stochastic Approximation Method", 1951). How far off a sample is
// doesn't count, so an outlier moves x by at most one step. η shrinks from 0.7
// as 1/√n down to 0.05, so that about twenty samples settle a rate and later
// changes of the engine are still followed. x stays within [Low, High].
//
// The zero value is not usable; see NewEstimate.
type Estimate struct {
	value     float64
	quantile  float64
	low, high float64
	samples   int
	fixed     bool // configured: samples are not looked at
}

const (
	firstStep = 0.7  // η of the first sample: a factor of up to two
	lastStep  = 0.05 // η after some 200 samples
)

// Prior is what an Estimate starts from.
type Prior struct {
	Value     float64 // before any sample
	Quantile  float64 // 0 … 1
	Low, High float64 // bounds, 0 < Low ≤ Value ≤ High
}

// PrefillPrior starts at 8,000 tokens/s. Unseen queues make samples too low, and
// cached tokens that nobody here knows of make them too high, by up to the whole
// prompt; the median withstands both as long as they are less than half.
func PrefillPrior() Prior { return Prior{Value: 8000, Quantile: 0.5, Low: 50, High: 1e6} }

// RatioPrior starts at 4 canonical bytes per token: between English (4.5) and
// code or other scripts (2.5 … 3.5).
func RatioPrior() Prior { return Prior{Value: 4, Quantile: 0.5, Low: 0.5, High: 32} }

// NewEstimate starts from p; with fixed > 0 it keeps that value for good.
func NewEstimate(p Prior, fixed float64) Estimate {
	e := Estimate{value: p.Value, quantile: p.Quantile, low: p.Low, high: p.High}
	if fixed > 0 {
		e.value, e.fixed = fixed, true
	}
	return e
}

// Value is the estimate.
func (e *Estimate) Value() float64 { return e.value }

// Samples is the number of samples it rests on.
func (e *Estimate) Samples() int { return e.samples }

// Observe takes one sample; one that is not a positive finite number is ignored.
func (e *Estimate) Observe(sample float64) {
	if e.fixed || !(sample > 0) || math.IsInf(sample, 1) {
		return
	}
	e.samples++
	step := max(firstStep/math.Sqrt(float64(e.samples)), lastStep)
	if sample > e.value {
		e.value *= math.Exp(step * e.quantile)
	} else {
		e.value *= math.Exp(-step * (1 - e.quantile))
	}
	e.value = min(max(e.value, e.low), e.high)
}
