// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/kvsteer/kvsteer/policy/load/orca"
	"github.com/kvsteer/kvsteer/policy/table"
)

// vm is one wasm VM, that is one worker thread of Envoy (or a canary that
// only configures). It owns what outlives a configuration: the placement
// table, the pools by cluster name, the readers, the counters.
//
// A configuration change creates a second filter in the same VM and deletes
// the first one later, so several filters live at once and may share pools.
type vm struct {
	types.DefaultVMContext
	host
	metrics metrics
	epoch   time.Duration // wall clock at the start
	clock   time.Duration // time since then, as of the last look
	table   *table.Table
	sizes   tableConfig // of the table
	pools   map[string]*pool
	serial  uint32 // of the pool made last
	readers readers
	probe   probe
	wiring  wiring
	streams uint64     // requests so far; 0: perhaps a VM that only tries a configuration
	standby *collector // nil: no configuration has one
	homes   []*filter  // filters that it may live in; it lives in the last one

	routed    *routings // nil: no configuration has had a routing section
	debugging bool      // Envoy shows debug lines

	exchange *exchange // with the other VMs
	chains   chains    // of prompts whose answers are to come
	usages   usages
	orca     *orca.Parser
}

func newVM(h host) *vm {
	v := &vm{host: h, pools: map[string]*pool{}}
	v.exchange = newExchange(v)
	v.orca, _ = orca.New() // it fails for no input
	return v
}

// OnVMStart starts the clock.
func (v *vm) OnVMStart(int) types.OnVMStartStatus {
	v.epoch = v.host.now()
	return types.OnVMStartStatusOK
}

// NewPluginContext makes a root context: the collector of a bootstrap extension,
// or a filter.
func (v *vm) NewPluginContext(id uint32) types.PluginContext {
	if root, _ := v.property("plugin_root_id"); string(root) == collectorRootID {
		return &collectorRoot{id: id, collector: newCollector(v, bootstrap)}
	}
	return &filter{vm: v, id: id}
}

// time looks at the clock: the time since the VM's start, which never runs
// backwards. It is a host call; v.clock is the time of the last look, at most
// a tick old. Where the wall clock is set back the epoch goes with it, so that
// epoch + clock is the wall clock at the last look.
func (v *vm) time() time.Duration {
	now := v.host.now()
	if now-v.epoch < v.clock {
		v.epoch = now - v.clock
	}
	v.clock = now - v.epoch
	return v.clock
}

// scope is the prefix of every key in shared data and of every queue's name:
// Istio's plugins all share one namespace, and two kvsteers of one Envoy that
// serve different pools are not to meet.
type scope string

func (s scope) key(name string) string { return string(s) + "/" + name }

// seedKey names the seed of block hashes in shared data.
const seedKey = "seed"

// plantSeed writes the seed of block hashes unless there is one. Every VM does
// so while it is configured; of several writers the last one wins, and all are
// done before the first request.
func (v *vm) plantSeed(s scope) {
	if _, _, ok := v.sharedData(s.key(seedKey)); !ok {
		v.setSharedData(s.key(seedKey), binary.LittleEndian.AppendUint64(nil, rand.Uint64()|1), 0)
	}
}

// readSeed returns the seed of block hashes: one per process and random, so
// that no client can know which prompts collide. Not 0.
func (v *vm) readSeed(s scope) uint64 {
	if b, _, ok := v.sharedData(s.key(seedKey)); ok && len(b) == 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return rand.Uint64() | 1
}
