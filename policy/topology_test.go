// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

func TestTopologyKeepsAConversation(t *testing.T) {
	p := newTestPool(t, Settings{}, DefaultTopology(), specs(6))
	r := cold(1)
	owner := p.Pick(nil, r).First()
	owner.SetOthers(load.Share{Queued: 8000}) // a second of work: no reason to move
	for range 10 {
		if got := p.Pick(nil, r).First(); got != owner {
			t.Fatalf("the conversation moved to %s", got.ID)
		}
	}
}

func TestTopologyLeavesAnOverloadedOwner(t *testing.T) {
	p := newTestPool(t, Settings{}, DefaultTopology(), specs(6))
	r := cold(1)
	owner := p.Pick(nil, r).First()
	owner.SetOthers(load.Share{Queued: 80_000})
	next := p.Pick(nil, r).First()
	if next == owner {
		t.Fatal("the conversation waits for ten seconds")
	}
	owner.SetOthers(load.Share{})
	if got := p.Pick(nil, r).First(); got != next {
		t.Errorf("the conversation went on to %s, its owner is %s", got.ID, next.ID)
	}
}

// TestTopologyAssignsByLoad: of 1,000 conversations that begin, an endpoint
// that is behind by a second takes half of its share.
func TestTopologyAssignsByLoad(t *testing.T) {
	p := newTestPool(t, Settings{}, DefaultTopology(), specs(4))
	busy := p.View().Endpoints()[0]
	busy.SetOthers(load.Share{Queued: 8000})
	taken := 0
	for c := range uint64(1000) {
		if p.Pick(nil, cold(c)).First() == busy {
			taken++
		}
	}
	// Weights 1/2, 1, 1, 1: a share of 1/7.
	if taken < 110 || taken > 180 {
		t.Errorf("the busy endpoint took %d of 1,000, want about 143", taken)
	}
}

func TestTopologyWithoutKey(t *testing.T) {
	p := newTestPool(t, Settings{}, DefaultTopology(), specs(4))
	if d := p.Pick(nil, &Request{Now: time.Second}); d.N != MaxChoices {
		t.Errorf("list of %d without a conversation key", d.N)
	}
	if _, ok := p.table.Owner(0); ok {
		t.Error("a request without a conversation key made an owner")
	}
}
