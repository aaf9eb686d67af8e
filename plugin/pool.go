// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
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
	users   int           // filters that hold it
	owner   *filter       // whose configuration it obeys; nil: of none that is left
	used    time.Duration // when the owner last had a request
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
func (f *filter) acquire(c *config) ([]*pool, error) {
	v := f.vm
	if err := v.ensureTable(c.table); err != nil {
		return nil, err
	}
	out := make([]*pool, 0, len(c.pools))
	for i := range c.pools {
		pc := &c.pools[i]
		key := promptKey{c.seed, c.prompt.maxBytes, c.prompt.billing, pc.algorithm}
		p := v.pools[pc.cluster]
		if p == nil || p.prompt != key {
			p = v.newPool(c, pc, key)
		}
		p.users++
		p.obey(f, c, pc)
		out = append(out, p)
	}
	return out, nil
}

// obey makes a filter's configuration the pool's.
func (p *pool) obey(f *filter, c *config, pc *poolConfig) {
	zone, _ := f.property("xds\x00node\x00locality\x00zone")
	p.owner, p.used, p.config = f, f.clock, *pc
	p.View().WaitingLimit = c.collector.waitingLimit
	p.configured(c, specs(pc, string(zone)))
}

// ownerIdle is how long a pool's owner has no request before another filter
// that has takes its place.
const ownerIdle = time.Second

// use notes that the i-th pool of f has a request. Envoy keeps filters of
// earlier configurations while their connections drain, and takes one of them up
// again where a configuration is rolled back, without a word: only its requests
// tell. So a pool obeys the filter that has them.
func (f *filter) use(i int) *pool {
	p := f.pools[i]
	if p.owner != f && (p.owner == nil || f.clock-p.used > ownerIdle) {
		p.obey(f, &f.config, &f.config.pools[i])
	}
	if p.owner == f {
		p.used = f.clock
	}
	return p
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
	p.Pool = policy.NewPool(policy.Settings{Gateways: c.gateways, Seed: rand.Uint64()}, definition, v.table)
	v.pools[pc.cluster] = p
	return p
}

// drop gives pools back; one that no filter holds leaves table and VM.
func (f *filter) drop(pools []*pool) {
	v := f.vm
	for _, p := range pools {
		if p.owner == f {
			p.owner = nil
		}
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
