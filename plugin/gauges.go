// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// gauges are what the working collector shows. Others' stand as they were last
// written, so only one VM of an Envoy writes them.
type gauges struct {
	next    time.Duration
	defined bool
	fleet   [fleetGauges]uint32
	engines map[string]*engineGauges
}

// fleetGauge is a gauge over all pools, shown as kvsteer_<name>.
type fleetGauge uint8

const (
	endpointsListed fleetGauge = iota
	endpointsUsable            // candidates; 0 while all are for want of a healthy one
	hostsAge                   // of the oldest host list
	loadAge                    // of the oldest statistics of an engine that has any
	scrapesFailing             // engines whose last scrape failed
	fleetGauges
)

var fleetGaugeNames = [fleetGauges]string{
	endpointsListed: "endpoints",
	endpointsUsable: "endpoints_healthy",
	hostsAge:        "hosts_age_milliseconds",
	loadAge:         "load_age_milliseconds",
	scrapesFailing:  "endpoints_without_metrics",
}

// engineGauges are those of one endpoint, shown as
// kvsteer_endpoint_<name>.<pool>.<address>. Envoy never frees a stat, so as many
// addresses get them as the configuration says, first come, first served.
type engineGauges struct {
	ids     [engineGaugeCount]uint32
	at      time.Duration // when they were last written
	cleared bool          // the endpoint has left, and they show 0
}

type engineValues [engineGaugeCount]uint64

const (
	engineHealthy = iota
	engineWaiting
	engineRunning
	engineKVUse // per mille
	engineGaugeCount
)

var engineGaugeNames = [engineGaugeCount]string{"healthy", "waiting", "running", "kv_use_permille"}

// gaugePeriod is how often they are written.
const gaugePeriod = time.Second

// write shows what the collector knows.
func (g *gauges) write(c *collector, now time.Duration) {
	if now < g.next {
		return
	}
	g.next = now + gaugePeriod
	g.define(c.host)
	var values [fleetGauges]uint64
	for _, f := range c.fleets {
		values[endpointsListed] += uint64(len(f.engines))
		values[endpointsUsable] += uint64(f.healthy())
		values[hostsAge] = max(values[hostsAge], age(f.at, now))
		for _, e := range f.engines {
			values[loadAge] = max(values[loadAge], age(e.stats.At, now))
			if e.fails > 0 {
				values[scrapesFailing]++
			}
		}
		g.writeEngines(c, f, now)
	}
	g.clearLeft(c, now)
	for i, v := range values {
		c.recordMetric(g.fleet[i], v)
	}
}

// age is in milliseconds, 0 for what has never been.
func age(at, now time.Duration) uint64 {
	if at == 0 {
		return 0
	}
	return uint64(max(now-at, 0) / time.Millisecond)
}

func (g *gauges) define(h host) {
	if g.defined {
		return
	}
	g.defined, g.engines = true, map[string]*engineGauges{}
	for i, name := range fleetGaugeNames {
		g.fleet[i], _ = h.defineMetric(gaugeMetric, "kvsteer_"+name)
	}
}

// writeEngines shows the endpoints of a fleet as the workers know them.
func (g *gauges) writeEngines(c *collector, f *fleet, now time.Duration) {
	for i := range f.entries {
		e := &f.entries[i]
		shown := g.of(c, f.cluster+"."+string(e.ID))
		if shown == nil {
			continue
		}
		var values engineValues
		if e.Spec.Healthy && !f.allOut {
			values[engineHealthy] = 1
		}
		if s := &e.Stats; !c.tooOld(s.At, now) {
			values[engineWaiting] = uint64(s.Waiting)
			values[engineRunning] = uint64(s.Running)
			values[engineKVUse] = uint64(s.KVUse * 1000)
		}
		shown.write(c, &values, now)
	}
}

// clearLeft shows 0 for endpoints that have left.
func (g *gauges) clearLeft(c *collector, now time.Duration) {
	for _, e := range g.engines {
		if e.at != now && !e.cleared {
			e.write(c, &engineValues{}, now)
			e.cleared = true
		}
	}
}

func (e *engineGauges) write(c *collector, values *engineValues, now time.Duration) {
	e.at, e.cleared = now, false
	for i, v := range values {
		c.recordMetric(e.ids[i], v)
	}
}

// gaugeLabel is an endpoint's name as a part of a metric's.
func gaugeLabel(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		switch c := name[i]; c {
		case ':', '/':
			b = append(b, '_')
		case '[', ']':
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// of returns the gauges of an endpoint, nil where all are taken.
func (g *gauges) of(c *collector, name string) *engineGauges {
	ids := g.engines[name]
	if ids == nil && len(g.engines) < c.config.gauges {
		ids = &engineGauges{}
		label := gaugeLabel(name)
		for i, metric := range engineGaugeNames {
			ids.ids[i], _ = c.defineMetric(gaugeMetric, "kvsteer_endpoint_"+metric+"."+label)
		}
		g.engines[name] = ids
	}
	return ids
}
