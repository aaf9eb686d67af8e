// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"cmp"
	"math"
)

// Comparator says which of two endpoints is better: the one with the lower
// score.
type Comparator uint8

// The comparators.
const (
	TTFT              Comparator = iota // expected time to the first token, ms
	QueueTime                           // expected wait in the queue, ms
	InputWorkSeconds                    // prompt work ahead and of this request, s
	Utilization                         // running requests by capacity
	NumRequestsQueued                   // requests without output so far
	comparatorCount
)

var comparatorNames = [comparatorCount + 1]string{
	"ttft", "queue-time", "input-work-seconds", "utilization", "num-requests-queued",
}

// String returns the name in configurations and expressions.
func (c Comparator) String() string { return comparatorNames[min(c, comparatorCount)] }

// score returns the score of e for r, +Inf where work meets no valid rate.
func (c Comparator) score(e *Endpoint, r *Request) float64 {
	switch c {
	case TTFT:
		return e.RTT + e.queue(r) + e.prefill(r)
	case QueueTime:
		return e.queue(r)
	case InputWorkSeconds:
		return e.seconds(float64(e.QueuedInputTokens) + float64(r.InputTokens))
	case Utilization:
		return float64(e.Running) / float64(max(e.MaxConcurrency, 1))
	}
	return float64(e.QueueSize)
}

// compare returns -1, 0 or 1 as a is better than, as good as or worse than b.
func (c Comparator) compare(a, b *Endpoint, r *Request) int {
	if c == NumRequestsQueued {
		return cmp.Compare(a.QueueSize, b.QueueSize)
	}
	return compareScores(c.score(a, r), c.score(b, r))
}

// compareFill is the order of pulsar-wait-and-widen: the shorter queue, then
// the smaller share of slots taken, or of requests where slots aren't known.
func compareFill(a, b *Endpoint, r *Request) int {
	if c := compareScores(a.queue(r), b.queue(r)); c != 0 {
		return c
	}
	if a.MaxConcurrency == 0 || b.MaxConcurrency == 0 {
		return cmp.Compare(a.Running, b.Running)
	}
	return compareScores(Utilization.score(a, r), Utilization.score(b, r))
}

// compareScores orders numbers, NaN after all others. Two infinities are equal.
func compareScores(a, b float64) int {
	switch {
	case a < b, math.IsNaN(b) && !math.IsNaN(a):
		return -1
	case a > b, math.IsNaN(a) && !math.IsNaN(b):
		return 1
	}
	return 0
}
