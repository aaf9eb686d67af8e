// SPDX-License-Identifier: Apache-2.0

package load

// Rate is an endpoint's prefill rate in tokens/s: what the endpoints of its
// pool have shown together, times a factor of its own.
//
// A rate learnt by each endpoint alone would start from a prior that may be far
// off; the first to be sampled would then look many times faster than the
// others, get nearly all requests, and leave the others without samples. So
// the pool's rate moves all of them at once, and what tells endpoints apart is
// bounded to a factor of four either way.
type Rate struct {
	pool   *Estimate
	factor Estimate
	fixed  float64 // configured; 0 = learn it
}

// NewRate is a rate over the pool's, or the configured one if fixed > 0.
func NewRate(pool *Estimate, fixed float64) Rate {
	return Rate{pool: pool, factor: NewEstimate(Prior{Value: 1, Quantile: 0.5, Low: 0.25, High: 4}, 0), fixed: fixed}
}

// Value is the rate.
func (r *Rate) Value() float64 {
	if r.fixed > 0 {
		return r.fixed
	}
	return r.pool.value * r.factor.value
}

// Observe takes one sample. The factor learns only once the pool's rate has
// settled: before that it would learn the prior's error.
func (r *Rate) Observe(sample float64) {
	if r.fixed > 0 {
		return
	}
	r.pool.Observe(sample)
	if r.pool.samples >= settledSamples {
		r.factor.Observe(sample / r.pool.value)
	}
}

// settledSamples brings an estimate from a prior that is 16 times off to within
// its last steps.
const settledSamples = 32
