// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/kvsteer/kvsteer/policy/prefix"

// counter is one of the module's counters. Envoy shows it as
// kvsteer_<name>; docs/metrics.md says what each means.
type counter uint8

const (
	requests      counter = iota // streams with an inference request
	steers                       // destination header set
	observed                     // chosen, but not set: observe mode or not in the percentage
	decidedEarly                 // the first choice was final before the body's end
	decidedWhole                 // the body had ended
	decidedBytes                 // the wait was over: bytes
	decidedTime                  // … time
	decidedSilent                // … ticks without a byte
	decidedHeader                // the body was not waited for
	learned                      // placements taken from a request
	forged                       // client copies of the destination header that had no effect
	lateBodies                   // bodies that came only after their headers' release by a tick
	promptBytes                  // canonical bytes of chosen requests
	matchedBytes                 // … believed to be cached at the choice
	flightsStarted
	flightsEnded
	movedOn          // answered by another endpoint than the first choice
	unlisted         // answered by a host that is none of the pool's
	failures         // connect failures, resets, 5xx of chosen endpoints
	panics           // recovered in an entry point
	withdrawn        // placements taken back: refused, aborted, or served elsewhere
	chainsLost       // … that could not be: their blocks were overwritten
	usagesRead       // answers whose usage was learnt from
	restartsSeen     // endpoints whose cache turned out to be empty
	reports          // load reports read from response headers
	reportFaults     // … that could not be read
	answersKept      // ids of answers that an engine keeps
	answersFollowed  // requests sent to the engine that keeps the answer they go on from
	answersUnknown   // … whose engine is not known
	sharedSent       // placements told to the other VMs
	sharedTaken      // … taken from them
	sharedDropped    // … not told: more than fits
	sharedGaps       // segments of other VMs that could not be read in time
	sharedFaults     // values in shared data that are none of ours
	sharedNoSlot     // ticks in which a VM found no slot to share from
	handoversWritten // for a VM that starts
	handoversRead

	// What the VM that collects does.
	leases          // times a VM has become the one that collects
	hostLists       // asked for
	hostListsFailed // … and not had, or not understood
	hostBytes
	scrapes
	scrapesFailed
	scrapeBytes
	allUnhealthy  // times a pool had no usable endpoint, so that all became candidates
	snapshotsSent // to all VMs together
	snapshotBytes // of each once
	collectorTime // µs
	snapshotsTaken
	snapshotsRefused
	poolsDoubted       // times a pool heard nothing for so long that health was no longer believed
	expressionsIgnored // routing expressions removed where there is no routing section
	codesRemoved       // routing errors removed that were none of ours
	modelsUnknown      // requests that went by the default definition, their model not being known in time
	plainCounters
)

var counterNames = [plainCounters]string{
	requests:       "requests",
	steers:         "steered",
	observed:       "observed",
	decidedEarly:   "decided_early",
	decidedWhole:   "decided_whole_body",
	decidedBytes:   "decided_wait_bytes",
	decidedTime:    "decided_wait_time",
	decidedSilent:  "decided_wait_silent",
	decidedHeader:  "decided_headers_only",
	learned:        "placements_learned",
	forged:         "forged_destination",
	lateBodies:     "bodies_after_release",
	promptBytes:    "prompt_bytes",
	matchedBytes:   "matched_bytes",
	flightsStarted: "flights_started",
	flightsEnded:   "flights_ended",
	movedOn:        "served_by_other",
	unlisted:       "served_by_unlisted",
	failures:       "endpoint_failures",
	panics:         "panics",

	withdrawn:        "placements_withdrawn",
	chainsLost:       "placements_not_corrected",
	usagesRead:       "usages_read",
	restartsSeen:     "endpoint_restarts",
	reports:          "load_reports",
	reportFaults:     "load_report_faults",
	answersKept:      "answers_kept",
	answersFollowed:  "answers_followed",
	answersUnknown:   "answers_unknown",
	sharedSent:       "shared_placements_sent",
	sharedTaken:      "shared_placements_received",
	sharedDropped:    "shared_placements_dropped",
	sharedGaps:       "shared_gaps",
	sharedFaults:     "shared_faults",
	sharedNoSlot:     "shared_no_slot",
	handoversWritten: "handovers_written",
	handoversRead:    "handovers_read",

	expressionsIgnored: "routing_expressions_ignored",
	codesRemoved:       "routing_errors_removed",
	modelsUnknown:      "routing_models_unknown",

	leases:           "collector_leases",
	hostLists:        "host_lists",
	hostListsFailed:  "host_lists_failed",
	hostBytes:        "host_list_bytes",
	scrapes:          "scrapes",
	scrapesFailed:    "scrapes_failed",
	scrapeBytes:      "scrape_bytes",
	allUnhealthy:     "all_endpoints_unhealthy",
	snapshotsSent:    "snapshots_sent",
	snapshotBytes:    "snapshot_bytes",
	collectorTime:    "collector_microseconds",
	snapshotsTaken:   "snapshots_taken",
	snapshotsRefused: "snapshots_refused",
	poolsDoubted:     "pools_without_collector",
}

// metrics are the counters of one VM. They are summed here and written to
// Envoy from the tick, since each write is a host call. Their number is fixed:
// Envoy never frees a stat.
type metrics struct {
	pending [counterCount]uint64
	ids     [counterCount]uint32
	defined bool
}

const (
	bypassCounters = plainCounters + counter(reasonCount)
	counterCount   = int(bypassCounters) + promptReasons

	promptReasons = 16 // room for every prefix.Reason
)

func (m *metrics) add(c counter, n int) { m.pending[c] += uint64(n) }

func (m *metrics) bypass(r reason) { m.pending[plainCounters+counter(r)]++ }

func (m *metrics) noPrompt(r prefix.Reason) { m.pending[bypassCounters+counter(r)]++ }

// define registers every counter once, so that a dashboard finds them at 0.
func (m *metrics) define(h host) {
	if m.defined {
		return
	}
	m.defined = true
	for i := range m.ids {
		m.ids[i], _ = h.defineMetric(counterMetric, "kvsteer_"+metricName(i))
	}
}

func metricName(i int) string {
	switch {
	case i < int(plainCounters):
		return counterNames[i]
	case i < int(bypassCounters):
		return "bypass_" + reason(i-int(plainCounters)).String()
	default:
		return "no_prompt_" + prefix.Reason(i-int(bypassCounters)).String()
	}
}

// flush writes what has changed.
func (m *metrics) flush(h host) {
	if !m.defined {
		return
	}
	for i, n := range m.pending {
		if n > 0 {
			h.addMetric(m.ids[i], int64(n))
			m.pending[i] = 0
		}
	}
}
