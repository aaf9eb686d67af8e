// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/kvsteer/kvsteer/policy/load/clusters"
	enginemetrics "github.com/kvsteer/kvsteer/policy/load/metrics"
	"github.com/kvsteer/kvsteer/policy/load/snapshot"
)

// collector finds out which endpoints the pools have, which of them are
// healthy, and how busy each engine is, and tells every worker.
//
//	Envoy's admin page, a document or the configuration ──> hosts.go ──┐
//	each engine's /metrics, through the engines' own cluster ─> scrape.go ─┼─> fleet.go
//	                                                                       │
//	followers in all VMs <── a queue for each, shared data <── push.go <───┘
//
// It lives in the root context "collector" of a bootstrap extension, and on
// standby in every worker; the lease decides who works. One VM has at most one.
// Whatever fails is counted and tried again; what is known ages meanwhile.
type collector struct {
	*vm
	root   uint32 // the context whose ticks drive it and that its requests come from
	scope  scope
	config collectorConfig
	pools  []poolConfig // of the bootstrap; a worker collects for all pools of its VM
	zone   string       // Envoy's own

	lease   lease
	working bool // the lease is held, and what is below is valid

	fleets  []*fleet
	hosts   *hostList         // nil: the configured endpoints are the list
	scrapes map[uint32]scrape // under way, by token
	pages   *enginemetrics.Parser
	result  enginemetrics.Result
	turn    struct{ fleet, engine int }
	outlet  outlet
	gauges  gauges
}

// idleAfter is how long no request must have come for a fleet to be looked at
// less often.
const idleAfter = time.Minute

// newCollector returns a collector for one VM.
func newCollector(v *vm, rank leaseRank) *collector {
	return &collector{vm: v, lease: lease{id: rand.Uint64(), rank: rank}}
}

// configure sets the root context and the configuration. What is known is kept:
// the collector takes it up again from what it has published.
func (c *collector) configure(root uint32, cfg *config) {
	c.root, c.scope, c.config = root, cfg.scope, cfg.collector
	if key := c.scope.key(leaseKey); key != c.lease.key {
		c.lease.leave(c.host)
		c.lease.key = key
	}
	c.outlet.configure(c.scope)
	if c.lease.rank == bootstrap {
		c.pools = cfg.pools
	}
	c.working = false
}

// tick does what is due.
func (c *collector) tick() {
	if c.lease.rank == standby && c.vm.streams == 0 {
		return
	}
	now := c.time()
	wall := c.epoch + now
	if !c.lease.step(c.host, wall) {
		c.working = false
		return
	}
	if !c.working {
		c.begin(now)
	}
	if frozen(c) {
		return
	}
	c.listen(now)
	c.expire(now)
	c.askHosts(now)
	c.scrape(now)
	c.publish(now)
	c.gauges.write(c, now)
	c.metrics.add(collectorMicroseconds, int((c.time()-now)/time.Microsecond))
}

// answer takes the answer to a request; one that nobody waits for any more is
// passed over.
func (c *collector) answer(token uint32, size int) {
	if !c.working {
		return
	}
	began := c.time()
	s, scraped := c.scrapes[token]
	switch {
	case scraped:
		delete(c.scrapes, token)
		c.takePage(s.fleet, s.engine, size)
		c.scrape(c.clock)
	case c.hosts != nil && c.hosts.asked != 0 && token == c.hosts.token:
		c.takeHosts(size)
	}
	c.metrics.add(collectorMicroseconds, int((c.time()-began)/time.Microsecond))
}

// answered reports whether the answer whose callback runs is a page. Envoy
// answers with 503 and 504 itself where nobody else does, and without headers
// where the request was reset.
func (c *collector) answered() bool {
	status, _ := c.headers(callHeaders).get(":status")
	return string(status) == "200"
}

// begin takes the work up where the last collector left it.
func (c *collector) begin(now time.Duration) {
	c.working = true
	c.metrics.add(collectorLeases, 1)
	zone, _ := c.property("xds\x00node\x00locality\x00zone")
	c.zone = string(zone)
	c.scrapes = map[uint32]scrape{}
	c.pages, _ = enginemetrics.New(c.config.metrics.custom) // faults of the names refuse the configuration
	c.fleets = c.fleets[:0]
	var names []string
	for _, p := range c.watched() {
		f := &fleet{poolConfig: p}
		c.resume(f, now)
		c.fleets = append(c.fleets, f)
		names = append(names, p.cluster)
	}
	c.hosts = newHostList(&c.config, names, func(h *clusters.Host) { c.fleets[h.Cluster].list(h, c.zone) })
	c.outlet.active = now
}

// watched are the pools to collect for.
func (c *collector) watched() []poolConfig {
	if c.lease.rank == bootstrap {
		return c.pools
	}
	var list []poolConfig
	for _, p := range c.vm.pools {
		list = append(list, p.config)
	}
	return list
}

func (c *collector) resume(f *fleet, now time.Duration) {
	var r snapshot.Reader
	value, _, ok := c.sharedData(c.scope.snapshotKey(f.cluster))
	if ok && r.Open(value) == nil {
		f.resume(&r, c.own(r.Header().Taken, now))
	}
}

// period is how often each engine is to be looked at.
func (c *collector) period(now time.Duration) time.Duration {
	if now-c.outlet.active >= idleAfter {
		return c.config.idlePeriod
	}
	return c.config.period
}

// listen looks who takes snapshots, and whether requests come. The first
// request after a time without makes everything due.
func (c *collector) listen(now time.Duration) {
	wasIdle := now-c.outlet.active >= idleAfter
	c.outlet.listen(c.host, c.epoch+now, now)
	if !wasIdle || c.outlet.active != now {
		return
	}
	if c.hosts != nil {
		c.hosts.due = 0
	}
	for _, f := range c.fleets {
		for _, e := range f.engines {
			e.due = min(e.due, now)
		}
	}
}

// expire gives up on answers that Envoy owes for too long, and on health that
// is too old.
func (c *collector) expire(now time.Duration) {
	for token, s := range c.scrapes {
		if e := s.engine; now-e.asked > callOverdue*c.config.timeout {
			delete(c.scrapes, token)
			e.asked = 0
			c.scrapeFailed(e, now)
		}
	}
	for _, f := range c.fleets {
		if c.tooOld(f.at, now) && !f.blind && f.at != 0 {
			f.blind, f.changed = true, true
		}
	}
}

// tooOld reports whether what was heard at this time is no longer believed.
func (c *collector) tooOld(at, now time.Duration) bool {
	return now-at >= max(healthAge, 3*c.period(now))
}

// publish tells the workers what has changed: who is a candidate at once, load
// at most every loadPause, and once a second that the collector is there.
func (c *collector) publish(now time.Duration) {
	for _, f := range c.fleets {
		if f.at == 0 {
			continue // no list has come yet
		}
		pause := aliveBeat
		if f.fresh {
			pause = loadPause
		}
		if !f.changed && now-f.sent < pause {
			continue
		}
		f.sequence++
		wereOut := f.allOut
		entries := f.snapshot()
		h := snapshot.Header{Pool: []byte(f.cluster), Sequence: f.sequence, Taken: int64(c.epoch + now)}
		c.outlet.send(c.vm, f.cluster, snapshot.Append(c.outlet.message[:0], h, now, entries))
		if f.allOut && !wereOut {
			c.metrics.add(allEndpointsUnhealthy, 1)
		}
		if f.changed {
			c.gauges.next = now
		}
		f.changed, f.fresh, f.sent = false, false, now
	}
}

const (
	loadPause = 200 * time.Millisecond
	aliveBeat = time.Second
)

// own is the VM's own time at a moment of the wall clock that has been.
func (v *vm) own(wall int64, now time.Duration) time.Duration {
	age := v.epoch + v.clock - time.Duration(wall)
	return now - min(max(age, 0), time.Hour)
}

// snapshotKey names a pool's last snapshot in shared data.
func (s scope) snapshotKey(cluster string) string { return s.key("snapshot/" + cluster) }

// queueName names the queue of a VM.
func (s scope) queueName(id uint64) string {
	return s.key("queue/" + strconv.FormatUint(id, 16))
}
