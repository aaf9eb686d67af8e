// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/kvsteer/kvsteer/policy/load/clusters"
)

// hostList fetches the list of hosts, one request at a time: from Envoy's admin
// page, or from an endpoint document.
type hostList struct {
	parser *clusters.Parser
	path   string
	due    time.Duration // 0: at once
	asked  time.Duration // when the request under way was sent; 0: there is none
	token  uint32
	fails  int  // in a row
	warned bool // that requests can't be sent
}

// newHostList returns a list for these clusters, nil where the configured
// endpoints are the list.
func newHostList(c *collectorConfig, names []string, visit clusters.Visitor) *hostList {
	if c.hosts.cluster == "" || len(names) == 0 {
		return nil
	}
	p, err := clusters.New(clusters.Config{Clusters: names, MaxBytes: c.maxBytes}, visit)
	if err != nil {
		return nil // the configuration has no such names: too long, or given twice
	}
	l := &hostList{parser: p, path: c.hosts.path}
	if c.admin {
		l.path = adminPath(names)
	}
	return l
}

// adminPath asks for these clusters only. Envoy before 1.40 ignores the filter
// and sends all.
func adminPath(names []string) string {
	var b strings.Builder
	b.WriteString("/clusters?format=json&filter=")
	appendEscaped(&b, "^(")
	for i, name := range names {
		if i > 0 {
			appendEscaped(&b, "|")
		}
		for j := range len(name) {
			if strings.IndexByte(`\.+*?()|[]{}^$`, name[j]) >= 0 {
				appendEscaped(&b, `\`)
			}
			appendEscaped(&b, name[j:j+1])
		}
	}
	appendEscaped(&b, ")$")
	return b.String()
}

// appendEscaped writes s as part of a query (RFC 3986 §2.1): all but unreserved
// characters in hexadecimal.
func appendEscaped(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
}

// askHosts fetches the list if it is due.
func (c *collector) askHosts(now time.Duration) {
	l := c.hosts
	if l == nil {
		c.listConfigured(now)
		return
	}
	if l.asked != 0 && now-l.asked > callOverdue*c.config.timeout {
		l.asked = 0
		c.hostsFailed(now)
	}
	if l.asked != 0 || now < l.due {
		return
	}
	page := &c.config.hosts
	token, ok := c.call(page.cluster, [][2]string{
		{":method", "GET"}, {":path", l.path}, {":authority", page.authority},
	}, c.config.timeout)
	c.metrics.add(hostLists, 1)
	if !ok {
		c.warnUnsent(page.cluster)
		c.hostsFailed(now)
		return
	}
	l.token, l.asked = token, now
}

// warnUnsent says once that Envoy doesn't even send the request for the list.
func (c *collector) warnUnsent(cluster string) {
	if c.hosts.warned {
		return
	}
	c.hosts.warned = true
	c.log(logWarn, "kvsteer: collector: Envoy sends no request for the host list to the cluster "+
		strconv.Quote(cluster)+". Is there a cluster of that name?")
}

// listConfigured lists the configured endpoints, which nothing can make older.
func (c *collector) listConfigured(now time.Duration) {
	for _, f := range c.fleets {
		if f.at == 0 {
			f.listConfigured(c.zone, now)
		}
		f.at = now
	}
}

// takeHosts takes the answer to askHosts. A list that is cut, malformed or too
// long changes nothing.
func (c *collector) takeHosts(size int) {
	l, now := c.hosts, c.time()
	l.asked = 0
	if !c.answered() || !c.readHosts(size) {
		c.hostsFailed(now)
		return
	}
	l.fails = 0
	l.due = now + c.period(now)
	for i, f := range c.fleets {
		if l.parser.Seen(i) {
			f.commit(now)
		}
	}
}

func (c *collector) readHosts(size int) bool {
	c.metrics.add(hostListBytes, size)
	l := c.hosts
	l.parser.Reset()
	for _, f := range c.fleets {
		f.listed = f.listed[:0]
	}
	for at := 0; at < size; at += bodyWindow {
		if l.parser.Write(c.body(callBody, at, min(bodyWindow, size-at))) != nil {
			return false
		}
	}
	return l.parser.Close() == nil
}

// hostsFailed plans another try, soon at first.
func (c *collector) hostsFailed(now time.Duration) {
	l := c.hosts
	c.metrics.add(hostListsFailed, 1)
	l.due = now + min(c.config.period<<min(l.fails, 8)/4, 2*time.Second)
	l.fails++
}
