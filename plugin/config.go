// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/expr/document"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// config is one filter's configuration. README.md has the table of its fields.
type config struct {
	pools    []poolConfig
	mode     mode
	percent  int // of conversations that are steered
	body     bodyMode
	wait     waitConfig
	prompt   promptConfig
	table    tableConfig
	gateways int
	seed     uint64       // of block hashes; 0: one per process
	readers  int          // bodies read at once
	receipt  bool         // answers carry x-kvsteer-decision
	scope    scope        // of keys in shared data
	routing  *expr.Config // nil: no routing expressions

	collector collectorConfig
}

// mode tells whether a choice takes effect.
type mode uint8

const (
	steer   mode = iota
	observe      // all but the destination header
)

// bodyMode tells whether headers may wait for the body.
type bodyMode uint8

const (
	bodyAuto bodyMode = iota // until it is found that Envoy doesn't show it
	bodyOn
	bodyOff
)

// waitConfig bounds how long headers wait for the body.
type waitConfig struct {
	bytes  int
	time   time.Duration
	silent int // ticks without a byte
}

type promptConfig struct {
	maxBytes int
	billing  bool // Claude Code's billing line counts as prompt
	paths    []pathShape
}

// pathShape maps a path end to the shape of its bodies.
type pathShape struct {
	end   string
	shape prefix.Shape
}

type tableConfig struct {
	bytes     int
	endpoints int
}

type poolConfig struct {
	cluster   string
	algorithm string
	kvTokens  int // KV cache of an endpoint that states none; 0 = unknown
	endpoints []endpointConfig
}

type endpointConfig struct {
	address  string // as Envoy names the host
	capacity float64
	kvTokens int
	rate     float64 // prefill tokens/s; 0 = learnt
	zone     string
}

func defaultConfig() config {
	return config{
		percent:  100,
		wait:     waitConfig{bytes: 256 << 10, time: 500 * time.Millisecond, silent: 2},
		prompt:   promptConfig{maxBytes: 1 << 20},
		table:    tableConfig{bytes: 9 << 19, endpoints: 256}, // 65,536 placements
		gateways: 1,
		readers:  256,
		scope:    "kvsteer",

		collector: defaultCollector(),
	}
}

// parseConfig reads a configuration. The result is usable only without faults.
func parseConfig(text []byte) (config, []fault) {
	c := defaultConfig()
	d := &decoder{}
	root, err := document.Parse(text, "")
	if err != nil {
		d.fault("", "the configuration is not valid JSON: "+err.Error())
		return c, d.faults
	}
	waitMillis := int(c.wait.time / time.Millisecond)
	seed := 0
	d.object(root, fields{
		{"pools", func(n document.Node) {
			d.list(n, d.pool(&c))
			d.filled(n, "needs a pool")
		}},
		{"mode", choice(d, &c.mode, "steer", "observe")},
		{"percent", d.integer(&c.percent, 0, 100)},
		{"body", choice(d, &c.body, "auto", "on", "off")},
		{"gateways", d.integer(&c.gateways, 1, 1000)},
		{"hash_seed", d.integer(&seed, 1, 1<<53)},
		{"readers", d.integer(&c.readers, 1, 4096)},
		{"decision_header", d.boolean(&c.receipt)},
		{"scope", d.text((*string)(&c.scope))},
		{"collector", d.collector(&c.collector)},
		{"routing", d.routing(&c.routing)},
		{"wait", func(n document.Node) {
			d.object(n, fields{
				{"bytes", d.integer(&c.wait.bytes, 1, 16<<20)},
				{"milliseconds", d.integer(&waitMillis, 1, 60_000)},
				{"silent_ticks", d.integer(&c.wait.silent, 1, 1000)},
			})
		}},
		{"prompt", func(n document.Node) {
			d.object(n, fields{
				{"max_bytes", d.integer(&c.prompt.maxBytes, 4<<10, 16<<20)},
				{"billing_line", d.boolean(&c.prompt.billing)},
				{"paths", d.paths(&c.prompt)},
			})
		}},
		{"table", func(n document.Node) {
			d.object(n, fields{
				{"bytes", d.integer(&c.table.bytes, 64<<10, 256<<20)},
				{"endpoints", d.integer(&c.table.endpoints, 1, 1024)},
			})
		}},
	})
	d.require(root, "pools")
	c.wait.time = time.Duration(waitMillis) * time.Millisecond
	c.seed = uint64(seed)
	d.whole(&c)
	d.collected(&c, root)
	return c, d.faults
}

// whole checks what concerns more than one field.
func (d *decoder) whole(c *config) {
	clusters := map[string]int{}
	total := 0
	for i, p := range c.pools {
		at := "/pools/" + strconv.Itoa(i)
		if j, ok := clusters[p.cluster]; ok && p.cluster != "" {
			d.fault(at+"/cluster", "is the cluster of /pools/"+strconv.Itoa(j)+" too")
		}
		clusters[p.cluster] = i
		total += len(p.endpoints)
	}
	if total > c.table.endpoints {
		d.fault("/table/endpoints", "is less than the "+strconv.Itoa(total)+" endpoints of all pools")
	}
	if c.gateways > 1 && c.seed == 0 {
		d.fault("/hash_seed", "is required with several gateways")
	}
}

// pool decodes one pool and appends it.
func (d *decoder) pool(c *config) func(document.Node) {
	return func(n document.Node) {
		var p poolConfig
		d.object(n, fields{
			{"cluster", d.text(&p.cluster)},
			{"algorithm", d.algorithm(&p.algorithm)},
			{"kv_tokens", d.integer(&p.kvTokens, 1, 1<<40)},
			{"endpoints", func(n document.Node) { d.list(n, d.endpoint(&p)) }},
		})
		d.require(n, "cluster")
		for i := range p.endpoints {
			p.endpoints[i].kvTokens = cmp.Or(p.endpoints[i].kvTokens, p.kvTokens)
		}
		c.pools = append(c.pools, p)
	}
}

// endpoint decodes "ip:port" or an object and appends it.
func (d *decoder) endpoint(p *poolConfig) func(document.Node) {
	return func(n document.Node) {
		e := endpointConfig{capacity: 1}
		if n.Kind == document.String {
			d.address(&e.address)(n)
		} else {
			d.object(n, fields{
				{"address", d.address(&e.address)},
				{"capacity", d.number(&e.capacity, 0.001, 1e6)},
				{"kv_tokens", d.integer(&e.kvTokens, 1, 1<<40)},
				{"prefill_tokens_per_second", d.number(&e.rate, 1, 1e7)},
				{"zone", d.text(&e.zone)},
			})
			d.require(n, "address")
		}
		for _, other := range p.endpoints {
			if e.address != "" && other.address == e.address {
				d.fault(n.Pointer, "is listed twice")
			}
		}
		p.endpoints = append(p.endpoints, e)
	}
}

// internalPrefix starts the names of hosts behind Istio's ambient tunnel.
const internalPrefix = "envoy://connect_originate/"

// address decodes a host's name as override_host knows it: ip:port, [v6]:port,
// or an address behind Istio's ambient tunnel.
func (d *decoder) address(dst *string) func(document.Node) {
	return func(n document.Node) {
		s, _ := n.Text()
		if !isAddress(strings.TrimPrefix(s, internalPrefix)) {
			d.fault(n.Pointer, "must be an address such as 10.0.0.5:8000 or [2001:db8::5]:8000")
			return
		}
		*dst = s
	}
}

// algorithm decodes the algorithm of a pool's requests. It is one of package
// policy's: the others are only there for routing expressions.
func (d *decoder) algorithm(dst *string) func(document.Node) {
	return func(n document.Node) {
		name, _ := n.Text()
		if _, ok := policy.Lookup(name); ok {
			*dst = name
			return
		}
		text := "must be one of"
		for _, known := range policy.Definitions() {
			text += " " + known.Name()
		}
		d.fault(n.Pointer, text)
	}
}

// paths decodes the map from path ends to shapes.
func (d *decoder) paths(p *promptConfig) func(document.Node) {
	return func(n document.Node) {
		if n.Kind != document.Object {
			d.fault(n.Pointer, "must be an object")
			return
		}
		n.Members(func(end string, v document.Node) {
			name, _ := v.Text()
			shape, ok := prefix.ParseShape(name)
			if !ok {
				d.fault(v.Pointer, "is no known shape")
			}
			if !strings.HasPrefix(end, "/") {
				d.fault(v.Pointer, "a path end starts with /")
			}
			p.paths = append(p.paths, pathShape{end, shape})
		})
	}
}
