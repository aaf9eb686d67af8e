// SPDX-License-Identifier: Apache-2.0

package orca

import "errors"

// MaxNamed is how many named metrics a report may have.
const MaxNamed = 32

// maxNames is how many bytes their names may have together.
const maxNames = 2 << 10

// Faults of a report.
var (
	ErrMissing   = errors.New("orca: no report")
	ErrFormat    = errors.New("orca: format is none of TEXT, JSON, BIN")
	ErrSyntax    = errors.New("orca: malformed report")
	ErrName      = errors.New("orca: unknown or empty metric name")
	ErrValue     = errors.New("orca: not a finite number, or negative")
	ErrDuplicate = errors.New("orca: metric given twice")
	ErrSeveral   = errors.New("orca: several binary reports")
	ErrTooLong   = errors.New("orca: report too long")
)

// Field is one number of a report.
type Field uint8

// The fields. Which engine gives which: vLLM KVUse and Waiting, Triton KVUse and KVTokens.
const (
	Waiting     Field = iota // requests that wait in the engine's queue
	Running                  // requests in its batches
	KVUse                    // ratio of the KV cache in use, 0 … 1
	KVTokens                 // tokens that fit into the KV cache
	CPU                      // ratio, may exceed 1
	Memory                   // ratio
	Application              // ratio, may exceed 1
	RPS                      // requests/s that the server serves in all
	EPS                      // errors/s
	fieldCount
)

// Report is what an engine says of itself with a response.
type Report struct {
	fields [fieldCount]float64
	counts [fieldCount]int // values added into each field; 0: unknown

	named    [MaxNamed]Named
	n        int
	names    [maxNames]byte
	namesLen int
}

// Named is an entry of the report's named metrics. Its name is valid until the next Reset.
type Named struct {
	Name  []byte
	Value float64
}

// Value returns a field, and whether the report has it.
func (r *Report) Value(f Field) (v float64, known bool) {
	if f >= fieldCount || r.counts[f] == 0 {
		return 0, false
	}
	if f == KVUse {
		return r.fields[f] / float64(r.counts[f]), true
	}
	return r.fields[f], true
}

// Named returns the named metrics in the order given, those that are fields included.
func (r *Report) Named() []Named {
	return r.named[:r.n]
}

func (r *Report) reset() {
	r.fields = [fieldCount]float64{}
	r.counts = [fieldCount]int{}
	r.n, r.namesLen = 0, 0
}

// put sets a field that may be given once.
func (r *Report) put(f Field, v float64) error {
	if v < 0 {
		return ErrValue
	}
	if r.counts[f] > 0 {
		return ErrDuplicate
	}
	r.fields[f], r.counts[f] = v, 1
	return nil
}

// putNamed adds a named metric.
func (r *Report) putNamed(name []byte, v float64) error {
	if len(name) == 0 {
		return ErrName
	}
	if f, ok := namedField(name); ok {
		if v < 0 {
			return ErrValue
		}
		if f != KVUse || v <= 1 {
			r.fields[f] += v
			r.counts[f]++
		}
	} else if r.has(name) {
		return ErrDuplicate
	}
	if r.n == MaxNamed || len(name) > maxNames-r.namesLen {
		return ErrTooLong
	}
	start := r.namesLen
	r.namesLen += copy(r.names[start:], name)
	r.named[r.n] = Named{r.names[start:r.namesLen:r.namesLen], v}
	r.n++
	return nil
}

func (r *Report) has(name []byte) bool {
	for i := range r.n {
		if string(r.named[i].Name) == string(name) {
			return true
		}
	}
	return false
}

// namedField returns the field that engines give under this name among the named metrics.
func namedField(name []byte) (f Field, ok bool) {
	switch string(name) {
	case "num_requests_waiting":
		return Waiting, true
	case "num_requests_running":
		return Running, true
	case "kv_cache_usage_perc", "kv_cache_utilization", "gpu_cache_usage_perc":
		return KVUse, true
	case "max_token_capacity":
		return KVTokens, true
	}
	return 0, false
}

// standardField returns the field of ORCA's own metric of this name.
func standardField(name []byte) (f Field, ok bool) {
	switch string(name) {
	case "cpu_utilization":
		return CPU, true
	case "mem_utilization":
		return Memory, true
	case "application_utilization":
		return Application, true
	case "rps_fractional":
		return RPS, true
	case "eps":
		return EPS, true
	}
	return 0, false
}
