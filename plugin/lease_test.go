// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"
)

func TestFrozenCollectorAgesOut(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.engines[one].waiting, s.engines[one].running = 30, 30
		s.engines[two].health = `"failed_active_health_check":true`
		s.run(within)
		s.where(30)
		s.run(time.Second)
		if got := s.where(20); got[three] != 20 {
			t.Fatalf("before: %v", got)
		}
		if s.bootstrap != nil {
			s.kill(s.bootstrap)
		}
		other := lease{id: 1, rank: bootstrap}
		for range 13 * time.Second / tickPeriod {
			wall := s.workers[0].host.clock
			s.workers[0].host.shared["kvsteer/lease"] = sharedValue{other.encode(wall), 1}
			s.run(tickPeriod)
		}
		s.wants(t, "after 13 s", one, two, three)
		if got := s.where(60); got[one] == 0 {
			t.Errorf("load of 13 s ago keeps requests away: %v", got)
		}
		if got := s.metric("kvsteer_pools_without_collector"); got != 2 {
			t.Errorf("kvsteer_pools_without_collector = %d, want one for each worker", got)
		}
	})
}

func TestStandbyTakesOver(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(time.Second)
		for _, d := range s.workers {
			d.bare()
		}
		holder := s.holder()
		if s.bootstrap != nil && holder != s.bootstrap {
			t.Fatal("a worker collects beside a bootstrap collector")
		}
		if n := s.metric("kvsteer_collector_leases"); n != 1 {
			t.Fatalf("kvsteer_collector_leases = %d, want 1", n)
		}
		s.kill(holder)
		s.engines[four] = &simEngine{}
		s.run(within)
		if s.holder() == nil {
			t.Fatal("nobody collects 2 s after the collector's end")
		}
		s.wants(t, "after another took over", one, two, three, four)
		s.bootstrap = s.join(collectorRootID)
		s.run(time.Second)
		if s.holder() != s.bootstrap {
			t.Error("the bootstrap collector doesn't take the lease from a worker")
		}
		s.bootstrap.vm.done(root)
		s.kill(s.bootstrap)
		s.run(4 * leaseBeat)
		if s.holder() == nil {
			t.Error("the lease of a collector that ended in order isn't taken at once")
		}
	})
}

func (s *site) holder() *driver {
	before := map[*driver]int{}
	for _, d := range s.all() {
		before[d] = len(d.host.callouts)
	}
	s.run(time.Second)
	for d, n := range before {
		if len(d.host.callouts) > n {
			return d
		}
	}
	return nil
}

func TestVMWithoutRequestsNeverCollects(t *testing.T) {
	newGuest := func(_ *testing.T, h *fakeHost) guest { return newNative(h) }
	s := newSite(t, collected, "bootstrap", newGuest)
	s.kill(s.bootstrap)
	s.run(5 * time.Second)
	if got := s.metric("kvsteer_collector_leases"); got != 0 {
		t.Errorf("kvsteer_collector_leases = %d before any request, want 0", got)
	}
	s.workers[1].bare()
	s.run(time.Second)
	if s.holder() != s.workers[1] {
		t.Error("the one that has served doesn't collect")
	}
}

func TestVMThatStartsLaterKnowsAtOnce(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		s.run(within)
		d := s.join("kvsteer")
		if to := d.chatNow(chatBody("late", 1)); to == "" {
			t.Error("its first request finds no endpoint")
		}
	})
}

func TestQueuesOfDeadVMsAreEmptied(t *testing.T) {
	driveSite(t, collected, func(t *testing.T, s *site) {
		for range 5 {
			d := s.join("kvsteer")
			d.bare()
			s.run(time.Second)
			s.kill(d)
			most := 0
			for range 6 * time.Second / tickPeriod {
				s.run(tickPeriod)
				held := 0
				for _, q := range *s.workers[0].host.queues {
					held += len(q.messages)
				}
				most = max(most, held)
			}
			held := 0
			for _, q := range *s.workers[0].host.queues {
				held += len(q.messages)
			}
			if held != 0 || most == 0 || most > 40 {
				t.Fatalf("6 s after a VM's end queues hold %d messages (at most %d between)", held, most)
			}
		}
		if n := len(s.workers[0].host.shared["kvsteer/roster"].value); n > 3*rowSize {
			t.Errorf("the roster has %d bytes for two workers", n)
		}
	})
}
