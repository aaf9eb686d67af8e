// SPDX-License-Identifier: Apache-2.0

package policy

// prior is φ, the share of what earlier turns have shown that the primary of a
// conversation holds although no placement of ours says so. It starts at 0.3
// with one gateway (whose table is lost at a restart at most) and at 0.9 with
// several that share nothing, and then follows the answers: a moving average
// of cached/expected over about the last 32 requests that rested on it.
type prior struct{ value float64 }

const (
	priorAlone   = 0.3
	priorSeveral = 0.9
	priorMost    = 0.95 // below 1, so that what is known wins over what is hoped for
	priorStep    = 1.0 / 32
)

func newPrior(gateways int) prior {
	if gateways > 1 {
		return prior{priorSeveral}
	}
	return prior{priorAlone}
}

// observe takes the share of the expected bytes that was cached.
func (p *prior) observe(share float64) {
	share = min(max(share, 0), 1)
	p.value += (min(share, priorMost) - p.value) * priorStep
}
