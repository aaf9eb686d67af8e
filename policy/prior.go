// SPDX-License-Identifier: Apache-2.0

package policy

// prior is φ, the share of what earlier turns have shown that the primary of a
// conversation is taken to hold although no placement of ours says so. It
// follows the answers: a moving average of cached/expected over about the last
// 32 requests that rested on it.
//
// One gateway starts at 0.3 and soon finds that its table knows all there is.
// Several gateways that share nothing start at 0.9 and stay above 0.6: for them
// φ is also what they agree by. Each sees only its own placements; left to
// those, all split the conversations differently, the primaries hold less and
// less, and φ would learn its way down to nothing.
type prior struct {
	value float64
	least float64
}

const (
	priorAlone        = 0.3
	priorSeveral      = 0.9
	priorLeastSeveral = 0.6
	priorMost         = 0.95 // below 1, so that what is known wins over what is hoped for
	priorStep         = 1.0 / 32
)

func newPrior(gateways int) prior {
	if gateways > 1 {
		return prior{value: priorSeveral, least: priorLeastSeveral}
	}
	return prior{value: priorAlone}
}

// observe takes the share of the expected bytes that was cached.
func (p *prior) observe(share float64) {
	share = min(max(share, 0), 1)
	p.value += (share - p.value) * priorStep
	p.value = min(max(p.value, p.least), priorMost)
}
