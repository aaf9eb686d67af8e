// SPDX-License-Identifier: Apache-2.0

package stargate

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
