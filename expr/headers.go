// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"
	"time"
)

// The plain request headers, in the order they are judged.
const (
	HeaderModel       = "x-model"
	HeaderRoutingKey  = "x-routing-key"
	HeaderAffinityKey = "x-cache-affinity-key"
	HeaderInputTokens = "x-input-tokens"
	HeaderPriority    = "x-priority"
	HeaderSLO         = "x-request-slo-ms"
	HeaderMaxWait     = "x-max-wait-ms"
)

const (
	// HeaderMethod carries the expression.
	HeaderMethod = "x-routing-method"

	// HeaderError carries the code of a rejection in a local reply.
	HeaderError = "x-routing-error"
)

// maxWait is the longest wait a request gets, whatever it asks for.
const maxWait = 60 * time.Second

// Headers collects the routing headers of one request and reads them. The zero
// value is ready; a value may be reused after Reset. The strings it is given
// must stay as they are for as long as it is in use.
type Headers struct {
	lines  [headerCount]line
	parsed Request
}

// line is a header's first value and how often the header appears.
type line struct {
	value string
	count int
}

// The places of headers in Headers.lines, in the order they are judged.
const (
	atModel = iota
	atRoutingKey
	atAffinityKey
	atInputTokens
	atPriority
	atSLO
	atWait
	atExpression
	headerCount
)

// headerNames are all names, by place, and for the plain headers the largest
// length of a text or the largest number.
var headerNames = [headerCount]struct {
	name  string
	bytes int    // texts: the largest length
	limit uint64 // numbers: the largest value
}{
	atModel:       {HeaderModel, 256, 0},
	atRoutingKey:  {HeaderRoutingKey, 256, 0},
	atAffinityKey: {HeaderAffinityKey, 1024, 0},
	atInputTokens: {HeaderInputTokens, 0, 1<<64 - 1},
	atPriority:    {HeaderPriority, 0, 1<<32 - 1},
	atSLO:         {HeaderSLO, 0, 1<<64 - 1},
	atWait:        {HeaderMaxWait, 0, 1<<64 - 1},
	atExpression:  {HeaderMethod, 0, 0},
}

// Request is what the plain headers say. A blank text is an absent one.
type Request struct {
	Model       string
	RoutingKey  string
	AffinityKey string

	InputTokens    uint64 // 0 unless HasInputTokens
	HasInputTokens bool
	Priority       uint32        // 0 is the most urgent
	SLO            uint64        // milliseconds; 0 is none
	MaxWait        time.Duration // at most a minute; 0: don't wait
}

// Reset forgets all.
func (h *Headers) Reset() { *h = Headers{} }

// Add takes one line of the request. It is quick about names that are none of
// ours, so that it may be called with every line.
func (h *Headers) Add(name, value string) {
	if len(name) < len(HeaderModel) || name[1] != '-' || name[0]|0x20 != 'x' {
		return
	}
	for i := range headerNames {
		if known := headerNames[i].name; known == name || len(known) == len(name) && strings.EqualFold(known, name) {
			if h.lines[i].count++; h.lines[i].count == 1 {
				h.lines[i].value = value
			}
			return
		}
	}
}

// Method returns the value of x-routing-method and how many such lines came.
func (h *Headers) Method() (value string, lines int) {
	return h.lines[atExpression].value, h.lines[atExpression].count
}

// Parse reads the plain headers in their fixed order and reports the first
// fault. needModel demands x-model. The request is valid until the next Parse or
// Reset.
func (h *Headers) Parse(needModel bool) (*Request, *Rejection) {
	h.parsed = Request{}
	for i := range atExpression {
		l := &h.lines[i]
		if l.count == 0 {
			if i == atModel && needModel {
				return nil, &Rejection{Code: MissingHeader, Header: HeaderModel, Offset: -1}
			}
			continue
		}
		value := strings.Trim(l.value, " ")
		if i == atModel && value == "" && l.count == 1 && needModel {
			return nil, &Rejection{Code: MissingHeader, Header: HeaderModel, Offset: -1}
		}
		if l.count > 1 || !isPrintable(value) || !h.set(i, value) {
			return nil, &Rejection{Code: InvalidHeader, Header: headerNames[i].name, Offset: -1}
		}
	}
	return &h.parsed, nil
}

// set reads one header and reports whether its value is valid.
func (h *Headers) set(i int, value string) bool {
	r := &h.parsed
	switch i {
	case atModel:
		r.Model = value
	case atRoutingKey:
		r.RoutingKey = value
	case atAffinityKey:
		r.AffinityKey = value
	default:
		return h.setNumber(i, value)
	}
	return len(value) <= headerNames[i].bytes
}

func (h *Headers) setNumber(i int, value string) bool {
	if !isUint(value) {
		return false
	}
	v, err := strconv.ParseUint(value, 10, 64)
	if err != nil || v > headerNames[i].limit {
		return false
	}
	r := &h.parsed
	switch i {
	case atInputTokens:
		r.InputTokens, r.HasInputTokens = v, true
	case atPriority:
		r.Priority = uint32(v)
	case atSLO:
		r.SLO = v
	case atWait:
		r.MaxWait = time.Duration(min(v, uint64(maxWait/time.Millisecond))) * time.Millisecond
	}
	return true
}

func isPrintable(s string) bool {
	for i := 0; i < len(s); i++ {
		if foreign.is(s[i]) {
			return false
		}
	}
	return true
}

// headerRule completes "NAME must be".
func headerRule(name string) string {
	for i := range headerNames {
		if h := &headerNames[i]; h.name == name && h.bytes > 0 {
			return "one line of at most " + strconv.Itoa(h.bytes) + " printable ASCII characters"
		}
	}
	if name == HeaderPriority {
		return "an unsigned 32-bit integer"
	}
	return "an unsigned 64-bit integer"
}
