// SPDX-License-Identifier: Apache-2.0

package stargate

import "github.com/kvsteer/kvsteer/expr"

// NoChoice is what a request gets for which no endpoint can be chosen at the
// moment: nil means to wait and to pick again. n endpoints are in its pool, m
// of them have not failed for it; waits says that it may wait still.
func NoChoice(n, m int, waits bool) *expr.Rejection {
	switch {
	case m > 0 && waits:
		return nil
	case n == 0:
		return &expr.Rejection{Code: expr.NoEligibleCandidates, Offset: -1}
	}
	return &expr.Rejection{Code: expr.NoEligibleBackend, Offset: -1}
}
