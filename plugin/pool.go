// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// pool is one cluster's policy.Pool, kept in the VM for as long as a filter
// uses it.
type pool struct {
	*policy.Pool
	cluster string
	prompt  promptKey
	users   int // filters that hold it
	serial  uint32
	vm      *vm
	config  poolConfig

	heard    time.Duration // when the last snapshot was taken; 0: none has come
	blind    bool          // that is so long ago that health is not believed
	restarts []uint32      // of each endpoint of the view, as the last snapshot had it

	standings     []standing // by table index
	reportsCached bool       // an engine has told of cached tokens
}

// SetEndpoints makes specs the endpoints of the pool, also in what the VMs
// exchange.
func (p *pool) SetEndpoints(specs []load.Spec) {
	p.Pool.SetEndpoints(specs)
	clear(p.standings) // their table indices may be others'
	p.vm.exchange.members.current = false
}

// promptKey is what block hashes depend on: a pool whose key changes starts
// anew, for what it knows is of no use.
type promptKey struct {
	seed      uint64
	maxBytes  int
	billing   bool
	algorithm string
}

// acquire returns the pools of a configuration. One that the VM has already
// under the same name and prompt settings is kept with all it has learnt, and
// gets the configured endpoints.
func (v *vm) acquire(c *config) ([]*pool, error) {
	if err := v.ensureTable(c.table); err != nil {
		return nil, err
	}
	zone, _ := v.property("xds\x00node\x00locality\x00zone")
	own := string(zone)
	out := make([]*pool, 0, len(c.pools))
	for i := range c.pools {
		pc := &c.pools[i]
		key := promptKey{c.seed, c.prompt.maxBytes, c.prompt.billing, pc.algorithm}
		p := v.pools[pc.cluster]
		if p == nil || p.prompt != key {
			p = v.newPool(c, pc, key)
		}
		p.users++
		p.config = *pc
		p.View().WaitingLimit = c.collector.waitingLimit
		p.configured(c, specs(pc, own))
		out = append(out, p)
	}
	return out, nil
}

// configured makes the configured endpoints those of the pool. Where there is a
// host list they only stand in for it until it is there.
func (p *pool) configured(c *config, specs []load.Spec) {
	if p.heard != 0 && c.collector.hosts.cluster != "" {
		return
	}
	p.SetEndpoints(specs)
	p.restarts = make([]uint32, len(p.View().Endpoints()))
}

// newPool makes a pool and puts it in the place of one of the same cluster,
// whose filters keep it until they are gone.
func (v *vm) newPool(c *config, pc *poolConfig, key promptKey) *pool {
	definition, ok := policy.Lookup(pc.algorithm)
	if !ok {
		definition = policy.Definitions()[0]
	}
	v.serial++
	p := &pool{cluster: pc.cluster, prompt: key, vm: v, serial: v.serial}
	p.Pool = policy.NewPool(policy.Settings{Gateways: c.gateways}, definition, v.table)
	v.pools[pc.cluster] = p
	return p
}

// drop gives pools back; one that no filter holds leaves table and VM.
func (v *vm) drop(pools []*pool) {
	for _, p := range pools {
		if p.users--; p.users > 0 {
			continue
		}
		p.SetEndpoints(nil)
		if v.pools[p.cluster] == p {
			delete(v.pools, p.cluster)
			v.exchange.members.current = false
		}
	}
}

// ensureTable makes the placement table at the first configuration. Another
// size means another table, and pools that start anew.
func (v *vm) ensureTable(c tableConfig) error {
	if v.table != nil && v.sizes == c {
		return nil
	}
	t, err := table.New(table.Sized(c.bytes, c.endpoints))
	if err != nil {
		return err
	}
	v.table, v.sizes = t, c
	clear(v.pools)
	return nil
}

// specs are the configured endpoints in the terms of package load. An endpoint
// is far if its zone and Envoy's own are known and differ.
func specs(pc *poolConfig, own string) []load.Spec {
	out := make([]load.Spec, len(pc.endpoints))
	for i, e := range pc.endpoints {
		out[i] = load.Spec{
			ID:       e.address,
			Capacity: uint64(e.kvTokens) * bytesPerToken,
			Weight:   e.capacity,
			Rate:     e.rate,
			Healthy:  true,
			Far:      own != "" && e.zone != "" && e.zone != own,
		}
	}
	return out
}

// bytesPerToken turns a configured KV capacity into canonical bytes before any
// answer has told the ratio.
const bytesPerToken = 4
