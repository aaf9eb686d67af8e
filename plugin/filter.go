// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// filter is the root context of the HTTP filter: one configuration, its pools
// and its waiting streams.
type filter struct {
	types.DefaultPluginContext
	*vm
	id      uint32
	config  config
	shapes  shapes
	prompt  prefix.Config
	pools   []*pool
	waiting []*stream // streams whose headers wait; each knows its place
	spare   []*stream // streams that have ended
	router  *router   // nil: no routing section
	fast    bool      // ticks come faster, for a request is held
	ticked  time.Duration
	text    []byte // scratch for header values

	follower follower
}

// tickPeriod bounds how late a silent client is noticed, a counter is seen and
// the coarse clock runs.
const tickPeriod = 50 * time.Millisecond

// OnPluginStart reads the configuration, takes the pools and warms up. With a
// faulty configuration it fails and Envoy keeps the one before.
func (f *filter) OnPluginStart(int) types.OnPluginStartStatus {
	c, faults := parseConfig(f.body(pluginConfig, 0, wholeBuffer))
	if len(faults) == 0 {
		pools, err := f.acquire(&c)
		if err != nil {
			faults = append(faults, fault{"/table", err.Error()})
		}
		f.pools = pools
	}
	if len(faults) > 0 {
		f.refuseRouting(faults)
		f.refuse(faults)
		return types.OnPluginStartStatusFailed
	}
	f.config = c
	f.shapes.configured = c.prompt.paths
	f.prompt = prefix.Config{Seed: c.seed, MaxBytes: c.prompt.maxBytes, KeepBilling: c.prompt.billing}
	f.plantSeed(c.scope)
	f.exchange.configure(c.scope)
	f.metrics.define(f.host)
	f.startRouting(c.routing)
	f.warmUp()
	f.standBy()
	f.tickPeriod(tickPeriod)
	return types.OnPluginStartStatusOK
}

// OnPluginDone gives the pools back.
func (f *filter) OnPluginDone() bool {
	if f.pools != nil { // it was configured
		f.exchange.done()
	}
	f.standDown()
	f.stopRouting()
	f.drop(f.pools)
	f.pools = nil
	return true
}

// NewHttpContext returns a stream for one request.
func (f *filter) NewHttpContext(id uint32) types.HttpContext {
	f.streams++
	if f.follower.deaf {
		f.catchUp()
	}
	f.exchange.serve()
	if f.prompt.Seed == 0 {
		f.prompt.Seed = f.readSeed(f.config.scope)
	}
	if n := len(f.spare); n > 0 {
		s := f.spare[n-1]
		f.spare = f.spare[:n-1]
		s.id = id
		return s
	}
	return &stream{filter: f, id: id}
}

// OnTick ends waits that are over and writes what has gathered since the last
// tick.
func (f *filter) OnTick() {
	now := f.time()
	if f.fast {
		f.retryHeld(now)
		if now-f.ticked < tickPeriod {
			return
		}
	}
	f.ticked = now
	f.endWaits(now)
	for _, p := range f.pools {
		p.View().Tick(now)
	}
	f.follow(now)
	f.collect()
	f.shareProbe()
	f.exchange.tick(now)
	f.metrics.flush(f.host)
	f.tickRouting(now)
}

// endWaits releases the streams that have waited long enough. Their order
// changes while they leave, so it runs backwards.
func (f *filter) endWaits(now time.Duration) {
	for i := len(f.waiting) - 1; i >= 0; i-- {
		s := f.waiting[i]
		s.silent++
		switch {
		case now-s.began >= f.config.wait.time:
			s.endWait(decidedWaitTime)
		case s.silent > f.config.wait.silent:
			s.endWait(decidedWaitSilent)
		}
	}
	f.setContext(f.id)
}

// shareProbe tells the other VMs that the flag is missing, or hears of it.
func (f *filter) shareProbe() {
	if f.probe.present || f.config.body != bodyAuto {
		return
	}
	if f.probe.strikes >= strikesMissing {
		f.setSharedData(f.config.scope.key(probeKey), []byte{1}, 0)
	} else if _, _, ok := f.sharedData(f.config.scope.key(probeKey)); ok {
		f.probe.missing(f.clock)
	}
}

// poolOf returns the pool of the stream's route: the only one, or the one of
// the route's cluster; nil for another cluster.
func (f *filter) poolOf() *pool {
	if len(f.pools) == 1 {
		return f.use(0)
	}
	cluster, _ := f.property("xds\x00cluster_name")
	for i, p := range f.pools {
		if p.cluster == string(cluster) {
			return f.use(i)
		}
	}
	return nil
}

// steers reports whether the request's conversation is among those whose
// choice takes effect. Where the key is not known yet, only 100 % steers.
func (c *config) steers(r *policy.Request) bool {
	switch {
	case c.mode == observe:
		return false
	case c.percent == 100:
		return true
	}
	return r.KeyKnown && int(r.Key>>32%100) < c.percent
}

// destination is the value of the destination header, valid until the next
// call.
func (f *filter) destination(d *policy.Decision) []byte {
	f.text = f.text[:0]
	for i, e := range d.Endpoints[:d.N] {
		if i > 0 {
			f.text = append(f.text, ',')
		}
		f.text = append(f.text, e.ID...)
	}
	return f.text
}
