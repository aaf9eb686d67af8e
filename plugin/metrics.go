// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/kvsteer/kvsteer/policy/prefix"

// counter is one of the module's counters. Envoy shows it as kvsteer_ and the
// name below; docs/metrics.md says what each means.
type counter uint8

const (
	// What becomes of requests.
	requests     counter = iota // with a prompt of an inference API
	steered                     // the destination header is set
	observed                    // chosen, but not set: observe mode or not in the percentage
	decidedEarly                // the first choice was final before the body's end
	decidedWholeBody
	decidedWaitBytes // so many had come that the wait was over
	decidedWaitTime
	decidedWaitSilent  // ticks without a byte
	decidedHeadersOnly // the body was not waited for
	promptBytes        // canonical bytes of chosen requests
	matchedBytes       // canonical bytes believed to be cached at the choice
	forgedDestination  // client copies of the header that had no effect
	bodiesAfterRelease // bodies that came only after a tick had released their headers
	panics             // recovered in an entry point

	// What their answers tell.
	flightsStarted
	flightsEnded
	placementsLearned      // prompts, not blocks
	placementsWithdrawn    // prompts refused, aborted, or served elsewhere
	placementsNotCorrected // prompts to take back whose blocks were overwritten
	servedByOther          // than the first choice
	servedByUnlisted       // a host that is none of the pool's
	endpointFailures       // connect failures, resets, 5xx of chosen endpoints
	endpointRestarts       // endpoints whose cache turned out to be empty
	usagesRead
	loadReports // read from response headers
	loadReportFaults
	answersKept     // ids of answers that an engine keeps
	answersFollowed // requests sent to the engine that keeps the answer they go on from
	answersUnknown  // requests that go on from an answer whose engine is not known

	// What VMs tell each other.
	sharedPlacementsSent
	sharedPlacementsReceived
	sharedPlacementsDropped // more than fits into a tick
	sharedGaps              // segments of other VMs that could not be read in time
	sharedFaults            // values in shared data that are none of ours
	sharedNoSlot            // ticks in which a VM found no slot to share from
	handoversWritten        // for a VM that starts
	handoversRead
	handoverPlacements // taken from those read

	// What the VM that collects does, and what the others hear of it.
	collectorLeases // times a VM has become the one that collects
	collectorMicroseconds
	hostLists       // asked for
	hostListsFailed // not had, or not understood
	hostListBytes
	scrapes
	scrapesFailed
	scrapeBytes
	allEndpointsUnhealthy // times a pool had no usable endpoint, so that all became candidates
	snapshotsSent         // to all VMs together
	snapshotBytes         // of each snapshot once
	snapshotsTaken
	snapshotsRefused
	poolsWithoutCollector // times a pool heard nothing for so long that health was no longer believed

	// What is counted of routing expressions with and without a routing section.
	routingExpressionsIgnored // removed where there is no routing section
	routingErrorsRemoved      // response headers that were none of ours
	routingModelsUnknown      // requests that went by the default definition, their model not being known in time

	plainCounters
)

var counterNames = [plainCounters]string{
	requests:           "requests",
	steered:            "steered",
	observed:           "observed",
	decidedEarly:       "decided_early",
	decidedWholeBody:   "decided_whole_body",
	decidedWaitBytes:   "decided_wait_bytes",
	decidedWaitTime:    "decided_wait_time",
	decidedWaitSilent:  "decided_wait_silent",
	decidedHeadersOnly: "decided_headers_only",
	promptBytes:        "prompt_bytes",
	matchedBytes:       "matched_bytes",
	forgedDestination:  "forged_destination",
	bodiesAfterRelease: "bodies_after_release",
	panics:             "panics",

	flightsStarted:         "flights_started",
	flightsEnded:           "flights_ended",
	placementsLearned:      "placements_learned",
	placementsWithdrawn:    "placements_withdrawn",
	placementsNotCorrected: "placements_not_corrected",
	servedByOther:          "served_by_other",
	servedByUnlisted:       "served_by_unlisted",
	endpointFailures:       "endpoint_failures",
	endpointRestarts:       "endpoint_restarts",
	usagesRead:             "usages_read",
	loadReports:            "load_reports",
	loadReportFaults:       "load_report_faults",
	answersKept:            "answers_kept",
	answersFollowed:        "answers_followed",
	answersUnknown:         "answers_unknown",

	sharedPlacementsSent:     "shared_placements_sent",
	sharedPlacementsReceived: "shared_placements_received",
	sharedPlacementsDropped:  "shared_placements_dropped",
	sharedGaps:               "shared_gaps",
	sharedFaults:             "shared_faults",
	sharedNoSlot:             "shared_no_slot",
	handoversWritten:         "handovers_written",
	handoversRead:            "handovers_read",
	handoverPlacements:       "handover_placements",

	collectorLeases:       "collector_leases",
	collectorMicroseconds: "collector_microseconds",
	hostLists:             "host_lists",
	hostListsFailed:       "host_lists_failed",
	hostListBytes:         "host_list_bytes",
	scrapes:               "scrapes",
	scrapesFailed:         "scrapes_failed",
	scrapeBytes:           "scrape_bytes",
	allEndpointsUnhealthy: "all_endpoints_unhealthy",
	snapshotsSent:         "snapshots_sent",
	snapshotBytes:         "snapshot_bytes",
	snapshotsTaken:        "snapshots_taken",
	snapshotsRefused:      "snapshots_refused",
	poolsWithoutCollector: "pools_without_collector",

	routingExpressionsIgnored: "routing_expressions_ignored",
	routingErrorsRemoved:      "routing_errors_removed",
	routingModelsUnknown:      "routing_models_unknown",
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
