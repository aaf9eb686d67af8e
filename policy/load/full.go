// SPDX-License-Identifier: Apache-2.0

package load

// fullSeconds is what an engine with twice the limit of waiting requests costs
// beyond its queue: more than computing any prompt anew that fits a model, so
// that a warm conversation moves too.
const fullSeconds = 30

// full is the price, in seconds, of a queue that is longer than the pool's
// WaitingLimit: nothing at the limit, fullSeconds at twice the limit and
// beyond. It grows with the queue instead of switching, so that a pool whose
// queues all swing around the limit doesn't move everyone at once; where all
// are far beyond it, all pay the same and the order stays.
func (e *Endpoint) full() float64 {
	if e.view == nil || e.view.WaitingLimit <= 0 {
		return 0
	}
	limit := float64(e.view.WaitingLimit)
	return fullSeconds * min(max(e.Stats.Waiting-limit, 0)/limit, 1)
}
