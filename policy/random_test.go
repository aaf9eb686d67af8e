// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"
)

func TestRandomIsUniform(t *testing.T) {
	p := newTestPool(t, Settings{Seed: 3}, Random{}, specs(5))
	const picks = 10_000
	seen := map[string]int{}
	for range picks {
		seen[p.Pick(nil, &Request{Now: time.Second}).First().ID]++
	}
	for id, n := range seen {
		if n < picks/5*9/10 || n > picks/5*11/10 {
			t.Errorf("%s was chosen %d times of %d", id, n, picks)
		}
	}
}
