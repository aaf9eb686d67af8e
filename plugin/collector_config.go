// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/expr/document"
	"github.com/kvsteer/kvsteer/policy/load/clusters"
	enginemetrics "github.com/kvsteer/kvsteer/policy/load/metrics"
)

// collectorConfig is the section "collector": where endpoints, their health and
// their load come from.
type collectorConfig struct {
	enabled      bool
	hosts        page // the host list; without a cluster, the configured endpoints are it
	admin        bool // hosts is Envoy's admin page
	period       time.Duration
	idlePeriod   time.Duration // while no request comes
	timeout      time.Duration
	inFlight     int // scrapes at once
	maxBytes     int // of a host list
	waitingLimit int // requests waiting in an engine from which it counts as full
	gauges       int // endpoints that get gauges of their own
	metrics      metricsConfig
}

// page is something to fetch.
type page struct {
	cluster, path, authority string
}

// metricsConfig says how engines are scraped.
type metricsConfig struct {
	enabled bool
	page        // cluster: another one than the engines' own; authority: the engine's address
	port    int // of the metrics, in that other cluster; 0: the engine's
	custom  []enginemetrics.Custom
}

func defaultCollector() collectorConfig {
	return collectorConfig{
		period:       time.Second,
		idlePeriod:   5 * time.Second,
		timeout:      time.Second,
		inFlight:     8,
		maxBytes:     clusters.DefaultMaxBytes,
		waitingLimit: 32,
		gauges:       64,
		metrics:      metricsConfig{enabled: true, page: page{path: "/metrics"}},
	}
}

// collector decodes the section.
func (d *decoder) collector(c *collectorConfig) func(document.Node) {
	return func(n document.Node) {
		c.enabled = true
		period, idle, timeout := milliseconds(c.period), milliseconds(c.idlePeriod), milliseconds(c.timeout)
		admin := ""
		d.object(n, fields{
			{"admin_cluster", d.text(&admin)},
			{"document", d.document(&c.hosts)},
			{"period_milliseconds", d.integer(&period, 200, 60_000)},
			{"idle_period_milliseconds", d.integer(&idle, 200, 60_000)},
			{"timeout_milliseconds", d.integer(&timeout, 50, 10_000)},
			{"in_flight", d.integer(&c.inFlight, 1, 64)},
			{"max_list_bytes", d.integer(&c.maxBytes, 64<<10, 64<<20)},
			{"waiting_limit", d.integer(&c.waitingLimit, 0, 1_000_000)},
			{"endpoint_gauges", d.integer(&c.gauges, 0, 1024)},
			{"metrics", d.metrics(&c.metrics)},
		})
		c.period, c.timeout = fromMilliseconds(period), fromMilliseconds(timeout)
		c.idlePeriod = max(fromMilliseconds(idle), c.period)
		if admin == "" {
			return
		}
		if c.hosts.cluster != "" {
			d.fault(n.Under("document"), "can't stand beside admin_cluster")
		}
		c.admin, c.hosts = true, page{cluster: admin, authority: admin}
	}
}

func milliseconds(d time.Duration) int { return int(d / time.Millisecond) }

func fromMilliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// document decodes where the endpoint document is.
func (d *decoder) document(p *page) func(document.Node) {
	return func(n document.Node) {
		d.object(n, fields{
			{"cluster", d.text(&p.cluster)},
			{"path", d.path(&p.path)},
			{"authority", d.text(&p.authority)},
		})
		d.require(n, "cluster", "path")
		if p.authority == "" {
			p.authority = p.cluster
		}
	}
}

// path decodes a request path.
func (d *decoder) path(dst *string) func(document.Node) {
	return func(n document.Node) {
		d.text(dst)(n)
		if *dst != "" && !strings.HasPrefix(*dst, "/") {
			d.fault(n.Pointer, "a path starts with /")
		}
	}
}

// metrics decodes how engines are scraped.
func (d *decoder) metrics(m *metricsConfig) func(document.Node) {
	return func(n document.Node) {
		d.object(n, fields{
			{"enabled", d.boolean(&m.enabled)},
			{"path", d.path(&m.path)},
			{"cluster", d.text(&m.cluster)},
			{"port", d.integer(&m.port, 1, 65535)},
			{"authority", d.text(&m.authority)},
			{"names", func(n document.Node) { d.list(n, d.metricName(m)) }},
		})
		if m.port != 0 && m.cluster == "" {
			d.fault(n.Under("port"), "needs a cluster that has the engines under this port")
		}
		d.customFaults(m.custom, n.Under("names")+"/")
	}
}

// metricName decodes one name of the engines' own and appends it.
func (d *decoder) metricName(m *metricsConfig) func(document.Node) {
	return func(n document.Node) {
		var c enginemetrics.Custom
		field := ""
		d.object(n, fields{
			{"field", d.text(&field)},
			{"name", d.text(&c.Name)},
			{"label", d.text(&c.Label)},
			{"value", d.text(&c.Value)},
			{"percent", d.boolean(&c.Percent)},
		})
		d.require(n, "field", "name")
		known := false
		if c.Field, known = enginemetrics.ParseField(field); !known && field != "" {
			d.fault(n.Under("field"), "is no known field")
		}
		m.custom = append(m.custom, c)
	}
}

// customFaults reports what package metrics says against the names.
func (d *decoder) customFaults(custom []enginemetrics.Custom, at string) {
	_, err := enginemetrics.New(custom)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return
	}
	for _, err := range joined.Unwrap() {
		if fault, ok := err.(*enginemetrics.CustomError); ok { // errors.As costs the module 20 KB
			d.fault(at+strconv.Itoa(fault.Index), fault.Err.Error())
		}
	}
}

// collected checks what the section and the rest of the configuration mean to
// each other.
func (d *decoder) collected(c *config, root document.Node) {
	if c.collector.hosts.cluster != "" {
		return
	}
	for _, pool := range root.Member("pools").Elements() {
		d.require(pool, "endpoints")
		d.filled(pool.Member("endpoints"), "needs an endpoint, or a collector with a host list")
	}
}
