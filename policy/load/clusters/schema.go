// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"math"
	"strconv"

	"github.com/kvsteer/kvsteer/policy/load/internal/jsonwalk"
)

type (
	node    = jsonwalk.Node[Parser]
	members = []jsonwalk.Member[Parser]
)

// document is both formats: their top-level members differ.
var document = &node{Members: members{
	{Name: "cluster_statuses", Node: &node{Elements: clusterStatus}},
	{Name: "endpoints", Node: &node{Elements: endpoint, Begin: (*Parser).beginEndpoints}},
}}

// Envoy's page.

var clusterStatus = &node{
	Begin: func(p *Parser) { p.cluster = unknown },
	Members: members{
		{Name: "name", Node: &node{Scalar: (*Parser).clusterName}},
		{Name: "host_statuses", Node: &node{Elements: hostStatus}},
	},
}

// clusterName skips the rest of a cluster that isn't wanted.
func (p *Parser) clusterName(v jsonwalk.Value) bool {
	p.cluster = p.find(v)
	if p.cluster == unknown {
		return false
	}
	p.seen[p.cluster] = true
	return true
}

var hostStatus = &node{
	Begin: func(p *Parser) {
		if p.cluster == unknown {
			p.fail(ErrOrder)
		}
		p.beginHost()
	},
	Members: members{
		{Name: "address", Node: &node{Members: members{
			{Name: "socket_address", Node: &node{Members: members{
				{Name: "address", Node: keep(socketAddress)},
				{Name: "port_value", Node: number(math.MaxUint16, func(p *Parser, n uint64) { p.port = n })},
			}}},
			{Name: "envoy_internal_address", Node: &node{Members: members{
				{Name: "server_listener_name", Node: keep(listener)},
				{Name: "endpoint_id", Node: keep(endpointID)},
			}}},
			{Name: "pipe", Node: &node{Members: members{{Name: "path", Node: keep(path)}}}},
		}}},
		{Name: "stats", Node: &node{Elements: statistic}},
		{Name: "health_status", Node: &node{Members: members{
			{Name: "eds_health_status", Node: &node{Scalar: (*Parser).edsHealth}},
			{Name: "failed_active_health_check", Node: flag(FailedActive)},
			{Name: "failed_outlier_check", Node: flag(Ejected)},
			{Name: "failed_active_degraded_check", Node: flag(Degraded)},
			{Name: "pending_dynamic_removal", Node: flag(PendingRemoval)},
			{Name: "pending_active_hc", Node: flag(PendingActive)},
			{Name: "excluded_via_immediate_hc_fail", Node: flag(Excluded)},
			{Name: "active_hc_timeout", Node: flag(Timeout)},
		}}},
		{Name: "weight", Node: weight},
		{Name: "hostname", Node: keep(hostname)},
		{Name: "priority", Node: priority},
		{Name: "locality", Node: &node{Members: members{
			{Name: "region", Node: keep(region)},
			{Name: "zone", Node: keep(zone)},
			{Name: "sub_zone", Node: keep(subZone)},
		}}},
	},
	End: func(p *Parser) { p.finish(p.buildAddress()) },
}

// statistic is a counter or gauge. Its members come in any order; a value of 0 is left out.
var statistic = &node{
	Begin: func(p *Parser) { p.counter, p.value = counterCount, 0 },
	Members: members{
		{Name: "name", Node: &node{Scalar: (*Parser).counterName}},
		{Name: "value", Node: number(1<<53, func(p *Parser, n uint64) { p.value = n })},
	},
	End: func(p *Parser) {
		if p.counter < counterCount {
			p.host.setCounter(p.counter, p.value)
		}
	},
}

func (p *Parser) counterName(v jsonwalk.Value) bool {
	for i, name := range counterNames {
		if v.Is(name) {
			p.counter = Counter(i)
		}
	}
	return true
}

func (p *Parser) edsHealth(v jsonwalk.Value) bool {
	switch {
	case v.Is("UNHEALTHY"), v.Is("TIMEOUT"):
		p.host.Health |= Unhealthy
	case v.Is("DRAINING"):
		p.host.Health |= Draining
	case v.Is("DEGRADED"):
		p.host.Health |= Degraded
	}
	return true
}

// buildAddress makes the text that Envoy's own address has.
func (p *Parser) buildAddress() []byte {
	if name := p.texts[listener].bytes(); len(name) > 0 {
		b := append(p.address[:0], "envoy://"...)
		b = append(append(b, name...), '/')
		return append(b, p.texts[endpointID].bytes()...)
	}
	if name := p.texts[path].bytes(); len(name) > 0 {
		return name
	}
	ip := p.texts[socketAddress].bytes()
	if len(ip) == 0 {
		return nil
	}
	b := p.address[:0]
	if bytes.IndexByte(ip, ':') >= 0 { // IPv6
		b = append(append(append(b, '['), ip...), ']')
	} else {
		b = append(b, ip...)
	}
	return strconv.AppendUint(append(b, ':'), p.port, 10)
}

// The endpoint document.

// beginEndpoints marks all clusters: the document lists every endpoint there is.
func (p *Parser) beginEndpoints() {
	for i := range p.seen {
		p.seen[i] = true
	}
}

var endpoint = &node{
	Begin: func(p *Parser) {
		p.beginHost()
		p.cluster = unknown
		if len(p.clusters) == 1 {
			p.cluster = 0
		}
	},
	Members: members{
		{Name: "address", Node: keep(socketAddress)},
		{Name: "cluster", Node: &node{Scalar: func(p *Parser, v jsonwalk.Value) bool {
			p.cluster = p.find(v)
			p.texts[clusterName].set(v.Text)
			return true
		}}},
		{Name: "health", Node: &node{Scalar: (*Parser).documentHealth}},
		{Name: "hostname", Node: keep(hostname)},
		{Name: "region", Node: keep(region)},
		{Name: "zone", Node: keep(zone)},
		{Name: "sub_zone", Node: keep(subZone)},
		{Name: "weight", Node: weight},
		{Name: "priority", Node: priority},
		{Name: "active_requests", Node: number(1<<53, func(p *Parser, n uint64) { p.host.setCounter(RequestsActive, n) })},
	},
	End: func(p *Parser) {
		switch {
		case p.cluster != unknown:
			p.finish(p.texts[socketAddress].bytes())
		case len(p.texts[clusterName].bytes()) == 0:
			p.fail(ErrCluster)
		}
	},
}

func (p *Parser) documentHealth(v jsonwalk.Value) bool {
	switch {
	case v.Is("healthy"):
		p.host.Health = 0
	case v.Is("degraded"):
		p.host.Health = Degraded
	case v.Is("draining"):
		p.host.Health = Draining
	case v.Is("unhealthy"):
		p.host.Health = Unhealthy
	default:
		p.fail(ErrValue)
	}
	return true
}

// Members of both.

// maxPriority is the largest priority that Envoy takes.
const maxPriority = 127

var (
	weight = number(math.MaxUint32, func(p *Parser, n uint64) { p.host.Weight = uint32(max(n, 1)) })

	priority = number(maxPriority, func(p *Parser, n uint64) { p.host.Priority = uint32(n) })
)

// number is a node for an integer of at most limit.
func number(limit uint64, put func(p *Parser, n uint64)) *node {
	return &node{Scalar: func(p *Parser, v jsonwalk.Value) bool {
		n, ok := v.Uint()
		if !ok || n > limit {
			p.fail(ErrValue)
			return true
		}
		put(p, n)
		return true
	}}
}

// flag is a node for a boolean that sets h.
func flag(h Health) *node {
	return &node{Scalar: func(p *Parser, v jsonwalk.Value) bool {
		if v.Kind == jsonwalk.True {
			p.host.Health |= h
		}
		return true
	}}
}

// keep is a node for a string that is kept until its host is complete.
func keep(t textName) *node {
	return &node{Scalar: func(p *Parser, v jsonwalk.Value) bool {
		if v.Kind != jsonwalk.String || v.Cut {
			p.fail(ErrValue)
			return true
		}
		p.texts[t].set(v.Text)
		return true
	}}
}

type textName uint8

const (
	socketAddress textName = iota // an endpoint document's address, too
	listener
	endpointID
	path
	hostname
	region
	zone
	subZone
	clusterName
	textCount
)

// text is a copy of a string, whose window passes.
type text struct {
	buf [jsonwalk.MaxText]byte
	n   int
}

func (t *text) set(b []byte)  { t.n = copy(t.buf[:], b) }
func (t *text) bytes() []byte { return t.buf[:t.n] }
