// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"testing"
	"time"
)

// TestRoundRobinStepsOncePerPick: the places of a list are one draw.
func TestRoundRobinStepsOncePerPick(t *testing.T) {
	for _, n := range []int{2, 3, 6} {
		t.Run(fmt.Sprintf("%d endpoints", n), func(t *testing.T) {
			p := newTestPool(t, Settings{}, RoundRobin{}, specs(n))
			for turn := range 2 * n {
				got := p.Pick(nil, &Request{Now: time.Second})
				for i := range got.N {
					if want := p.View().Endpoints()[(turn+i)%n]; got.Endpoints[i] != want {
						t.Fatalf("turn %d, place %d: %s, want %s", turn, i, got.Endpoints[i].ID, want.ID)
					}
				}
			}
		})
	}
}

// TestRoundRobinStaysWhereNothingCanBeChosen: a pick that comes to nothing is no
// turn.
func TestRoundRobinStaysWhereNothingCanBeChosen(t *testing.T) {
	p := newTestPool(t, Settings{}, RoundRobin{}, specs(3))
	list := p.View().Endpoints()
	none := []int{list[0].Index, list[1].Index, list[2].Index}
	for turn := range 5 {
		if got := p.Pick(nil, &Request{Now: time.Second, Excluded: none}); got.N != 0 {
			t.Fatalf("picked %s of nothing", got.First().ID)
		}
		if got, want := p.Pick(nil, &Request{Now: time.Second}).First(), list[turn%3]; got != want {
			t.Errorf("turn %d: %s, want %s", turn, got.ID, want.ID)
		}
	}
}
