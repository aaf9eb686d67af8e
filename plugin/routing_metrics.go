// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy/routing"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// routingMetrics are the counters of routing expressions. The host knows no
// labels, so each combination of their values is a metric of its own, named
//
//	kvsteer_routing_requests_total.method.pulsar.outcome.selected
//
// All values come from closed lists: nothing that a client writes is among
// them, and the number of metrics is fixed.
type routingMetrics struct {
	methods []string // label values, the last of them "unknown"
	codes   []expr.Code
	bases   [familyCount]int // where a family begins in pending
	widths  [familyCount]int // values of its second label
	pending []uint64
	ids     []uint32

	entries, definitions gauge
	duration             uint32
	samples              uint32
}

// family is a metric with all its label values.
type family uint8

const (
	requestsTotal family = iota
	expressionRejections
	headerRejections
	definitionCache
	definitionEvictions
	selections
	kvSkips
	admissionRejections
	waitRetries
	configLoads
	ringsReduced
	familyCount
)

// The outcomes of a request.
const (
	outcomeSelected = iota
	outcomeRejected
	outcomeShed
	outcomeNoEndpoint
	outcomeError
)

// familyDef declares a family: its name and its labels with their values. A
// family without a label has one value.
type familyDef struct {
	name          string
	first, second string // label names
	values        []string
	more          []string // values of the second label
}

func (m *routingMetrics) families() [familyCount]familyDef {
	var codes []string
	expr.Codes(func(c expr.Code) {
		if c.Status() == 400 && c != expr.MissingHeader && c != expr.InvalidHeader {
			m.codes = append(m.codes, c)
			codes = append(codes, c.String())
		}
	})
	return [familyCount]familyDef{
		requestsTotal: {"requests_total", "method", "outcome", m.methods,
			[]string{
				outcomeSelected: "selected", outcomeRejected: "rejected", outcomeShed: "shed",
				outcomeNoEndpoint: "no_endpoint", outcomeError: "error",
			}},
		expressionRejections: {"expression_rejections_total", "method", "code", m.methods, codes},
		headerRejections:     {"header_rejections_total", "code", "", []string{"missing_header", "invalid_header"}, nil},
		definitionCache:      {"definition_cache_total", "method", "result", m.methods, names(expr.Uncached, expr.Temporary)},
		definitionEvictions:  {"definition_cache_evictions_total", "cause", "", names(expr.Idle, expr.ConfigChange), nil},
		selections:           {"selections_total", "method", "selection", m.methods, []string{"primary", "fallback"}},
		kvSkips:              {"kv_skip_selections_total", "method", "", m.methods, nil},
		admissionRejections:  {"admission_rejections_total", "reason", "", names(stargate.OverLimit, stargate.NoCapacity), nil},
		waitRetries:          {name: "wait_retries_total"},
		configLoads:          {"config_loads_total", "result", "", []string{"accepted", "rejected"}, nil},
		ringsReduced:         {name: "rings_reduced_total"},
	}
}

// names returns the names of all values from first to last.
func names[T interface {
	~uint8
	String() string
}](first, last T) (list []string) {
	for v := first; v <= last; v++ {
		list = append(list, v.String())
	}
	return list
}

const routingPrefix = "kvsteer_routing_"

// define registers every metric, so that a dashboard finds each at 0.
func (m *routingMetrics) define(h host) {
	if catalog, err := routing.Catalog(); err == nil {
		catalog.Algorithms(func(name string) { m.methods = append(m.methods, name) })
	}
	m.methods = append(m.methods, "unknown")
	for i, f := range m.families() {
		m.bases[i], m.widths[i] = len(m.ids), max(len(f.more), 1)
		for _, a := range orOne(f.values) {
			for _, b := range orOne(f.more) {
				id, _ := h.defineMetric(counterMetric, routingPrefix+f.name+labelled(f.first, a)+labelled(f.second, b))
				m.ids = append(m.ids, id)
			}
		}
	}
	m.pending = make([]uint64, len(m.ids))
	m.entries.id, _ = h.defineMetric(gaugeMetric, routingPrefix+"definition_cache_entries")
	m.definitions.id, _ = h.defineMetric(gaugeMetric, routingPrefix+"definitions")
	m.duration, _ = h.defineMetric(histogramMetric, routingPrefix+"duration_microseconds")
}

func orOne(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}

func labelled(name, value string) string {
	if name == "" {
		return ""
	}
	return "." + name + "." + value
}

// add counts one more of a family, by the places of its label values.
func (m *routingMetrics) add(f family, first, second int) {
	m.pending[m.bases[f]+first*m.widths[f]+second]++
}

// method is the place of an algorithm's name among the label values.
func (m *routingMetrics) method(name string) int {
	for i, known := range m.methods {
		if known == name {
			return i
		}
	}
	return len(m.methods) - 1
}

func (m *routingMetrics) evicted(c expr.Cause) {
	if c <= expr.ConfigChange {
		m.add(definitionEvictions, int(c), 0)
	}
}

func (m *routingMetrics) loaded(accepted bool) {
	if accepted {
		m.add(configLoads, 0, 0)
	} else {
		m.add(configLoads, 1, 0)
	}
}

func (m *routingMetrics) resolved(c *routing.Choice) {
	m.add(definitionCache, m.method(c.Algorithm), int(c.Result))
}

func (m *routingMetrics) admission(a stargate.Admission) {
	m.add(admissionRejections, int(a-stargate.OverLimit), 0)
}

func (m *routingMetrics) selected(algorithm string, o stargate.Outcome) {
	method := m.method(algorithm)
	m.add(requestsTotal, method, outcomeSelected)
	if o.RankDepth > 1 {
		m.add(selections, method, 1)
	} else {
		m.add(selections, method, 0)
	}
	if o.KVSkip {
		m.add(kvSkips, method, 0)
	}
}

// refused counts what t is refused for.
func (m *routingMetrics) refused(t *route, r *expr.Rejection) {
	method := m.method(r.Algorithm())
	if t.resolved {
		method = m.method(t.choice.Algorithm)
	}
	outcome := outcomeRejected
	switch r.Code {
	case expr.MissingHeader:
		m.add(headerRejections, 0, 0)
	case expr.InvalidHeader:
		m.add(headerRejections, 1, 0)
	case expr.InputWorkLimitExceeded:
		outcome = outcomeShed
	case expr.NoEligibleCandidates, expr.NoEligibleBackend:
		outcome = outcomeNoEndpoint
	case expr.InternalError:
		outcome = outcomeError
	default:
		m.add(expressionRejections, method, slices.Index(m.codes, r.Code))
	}
	m.add(requestsTotal, method, outcome)
}

// flush writes what has changed.
func (m *routingMetrics) flush(h host) {
	for i, n := range m.pending {
		if n > 0 {
			h.addMetric(m.ids[i], int64(n))
			m.pending[i] = 0
		}
	}
}

// gauge is one whose value is the sum over all VMs: each adds what has changed.
type gauge struct {
	id    uint32
	value int
}

func (g *gauge) set(h host, value int) {
	if value != g.value {
		h.addMetric(g.id, int64(value-g.value))
		g.value = value
	}
}

// cached tells how much the definition caches hold.
func (m *routingMetrics) cached(h host, entries, definitions int) {
	m.entries.set(h, entries)
	m.definitions.set(h, definitions)
}

// timedEvery is how many requests there are for each whose duration is
// measured: looking at the clock and recording are host calls.
const timedEvery = 64

// sample reports whether the next request is measured.
func (m *routingMetrics) sample() bool {
	m.samples++
	return m.samples%timedEvery == 1
}

// clockIn starts or goes on to measure the time that the steps of a request
// take, waits not counted; clockOut stops. The clock is exact, unlike the VM's.
func (s *stream) clockIn() time.Duration {
	if !s.route.timed {
		return 0
	}
	return s.filter.host.now()
}

func (s *stream) clockOut(since time.Duration) {
	if t := s.route; t.timed {
		t.spent += max(s.filter.host.now()-since, 0)
	}
}

// recordTime ends the measurement.
func (s *stream) recordTime() {
	if t := s.route; t.timed {
		s.filter.recordMetric(s.filter.routed.metrics.duration, uint64(t.spent/time.Microsecond))
		t.timed = false
	}
}
