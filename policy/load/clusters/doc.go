// SPDX-License-Identifier: Apache-2.0

// Package clusters reads the hosts of chosen clusters with their health, locality and counters,
// from Envoy's admin page /clusters?format=json or from a document in a format of its own.
//
//	windows → JSON walk → cluster wanted? → a Host for each host → Visitor
//	                      └ no: skipped by counting brackets
//
// The document may be cut into windows at any byte. It is read in one pass and never held: memory
// is constant, and a document of more than MaxBytes is refused. Hosts are handed on as they come,
// so a caller takes them as a new set only when Close returns nil.
//
// # Envoy's page
//
// Read are name, address, health, weight, priority, locality and the counters of each host
// (envoy.admin.v3.Clusters; recorded pages of 1.36.2 and 1.40.0 are in testdata). A cluster's name
// must come before its hosts, as Envoy writes it. With ?filter=<regex> Envoy 1.40 sends only the
// clusters wanted; 1.36 ignores it and sends all.
//
// # Endpoint document
//
// For those who may not reach the admin page, any HTTP server may list the endpoints:
//
//	{"endpoints": [
//	  {"address": "10.0.0.1:8000"},
//	  {"address": "[2001:db8::1]:8000", "cluster": "engines", "health": "draining",
//	   "hostname": "engine-7", "region": "eu", "zone": "eu-a", "sub_zone": "rack-7",
//	   "weight": 3, "priority": 0, "active_requests": 12}
//	]}
//
//	address          required; exactly as Envoy names the host (see Host.Address)
//	cluster          name of the cluster; may be left out where only one is asked for
//	health           "healthy" (default), "degraded", "draining" or "unhealthy"
//	hostname, region, zone, sub_zone   default ""
//	weight           1 … 2^32−1, default 1
//	priority         0 … 127, default 0; Envoy's priority, 0 is used first
//	active_requests  requests that the endpoint serves now, default unknown
//
// Other members are passed over, so that the document may carry more. A wrong value refuses the
// whole document: a list that is half understood must not take endpoints away.
package clusters
