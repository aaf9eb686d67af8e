// SPDX-License-Identifier: Apache-2.0

package stargate

import "github.com/kvsteer/kvsteer/expr"

// Outcome says more about a pick.
type Outcome struct {
	RankDepth int  // of the first choice in the ranking, from 1; 1 where there is no ranking; 0: no choice
	KVSkip    bool // an endpoint ranked above it had no room in its KV cache
}

// NoChoice is what a request gets for which no endpoint can be chosen at the
// moment: nil means to wait and to pick again. listed endpoints are in its pool,
// of which so many are eligible; waits says that it may wait still, failed that
// an endpoint has failed for it before.
func NoChoice(listed, eligible int, waits, failed bool) *expr.Rejection {
	switch {
	case eligible > 0 && waits:
		return nil
	case listed == 0 && !failed:
		return &expr.Rejection{Code: expr.NoEligibleCandidates, Offset: -1}
	}
	return &expr.Rejection{Code: expr.NoEligibleBackend, Offset: -1}
}
