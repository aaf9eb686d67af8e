// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// collectorRoot is the root context "collector" of a bootstrap extension, which
// Envoy runs on its main thread. Its configuration is that of a filter.
type collectorRoot struct {
	types.DefaultPluginContext
	*collector
	id uint32
}

// collectorRootID names the root context in Envoy's configuration.
const collectorRootID = "collector"

// OnPluginStart reads the configuration and starts to tick.
func (r *collectorRoot) OnPluginStart(int) types.OnPluginStartStatus {
	c, faults := parseConfig(r.body(pluginConfig, 0, wholeBuffer))
	if len(faults) == 0 && !c.collector.enabled {
		faults = []fault{{"/collector", "is required"}}
	}
	if len(faults) > 0 {
		r.refuse(faults)
		return types.OnPluginStartStatusFailed
	}
	r.metrics.define(r.host)
	r.configure(r.id, &c)
	r.tickPeriod(tickPeriod)
	return types.OnPluginStartStatusOK
}

// OnTick collects what is due.
func (r *collectorRoot) OnTick() {
	r.tick()
	r.metrics.flush(r.host)
}

// OnHttpCallResponse takes the answer to a request of the collector.
func (r *collectorRoot) OnHttpCallResponse(token uint32, _, size int) { r.answer(token, size) }

// OnPluginDone gives the lease up.
func (r *collectorRoot) OnPluginDone() bool {
	r.lease.leave(r.host)
	return true
}

// refuse reports the faults of a configuration.
func (v *vm) refuse(faults []fault) {
	for _, fault := range faults {
		v.log(logError, "kvsteer: configuration: "+fault.String())
	}
}

// standBy makes the filter's root context the home of the VM's collector, and
// follows whichever collector works. Of several filters the one configured
// last is the home.
func (f *filter) standBy() {
	if !f.config.collector.enabled {
		return
	}
	if f.standby == nil {
		f.standby = newCollector(f.vm, standby)
		f.warmUpCollector()
	}
	f.homes = append(f.homes, f)
	f.standby.configure(f.id, &f.config)
	f.openQueue()
}

// standDown moves the VM's collector to another filter, or ends it.
func (f *filter) standDown() {
	i := slices.Index(f.homes, f)
	if i < 0 {
		return
	}
	f.homes = slices.Delete(f.homes, i, i+1)
	if n := len(f.homes); n > 0 {
		f.standby.configure(f.homes[n-1].id, &f.homes[n-1].config)
		return
	}
	f.standby.lease.leave(f.host)
	f.standby = nil
}

// collect lets the VM's collector do what is due, if f is its home.
func (f *filter) collect() {
	if f.standby != nil && f.standby.root == f.id {
		f.standby.tick()
	}
}

// OnHttpCallResponse takes the answer to a request of the collector.
func (f *filter) OnHttpCallResponse(token uint32, _, size int) {
	if f.standby != nil && f.standby.root == f.id {
		f.standby.answer(token, size)
	}
}
