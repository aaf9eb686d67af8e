// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strconv"
	"time"

	"github.com/kvsteer/kvsteer/expr"
)

// Log lines of routing expressions. Only the one of a rejection shows text of
// the client as it came, cut and escaped; the others have the canonical form.
// Affinity keys are in none.

// lineLimit lets so many lines a second through and counts the others.
type lineLimit struct {
	second  int64
	lines   int
	dropped int
}

const linesPerSecond = 10

// pass reports whether a line may be written, and how many before it were not.
func (l *lineLimit) pass(now time.Duration) (ok bool, dropped int) {
	if second := int64(now / time.Second); second != l.second {
		dropped, l.dropped = l.dropped, 0
		l.second, l.lines = second, 0
	}
	if l.lines == linesPerSecond {
		l.dropped++
		return false, 0
	}
	l.lines++
	return true, dropped
}

// logLimited writes a line unless there were too many in this second.
func (v *vm) logLimited(level logLevel, line string) {
	ok, dropped := v.routed.lines.pass(v.clock)
	if dropped > 0 {
		v.log(logInfo, "kvsteer: routing: "+strconv.Itoa(dropped)+" more lines were suppressed")
	}
	if ok {
		v.log(level, line)
	}
}

// logBuilt tells of a definition that was built.
func (s *stream) logBuilt() {
	if c := &s.route.choice; c.Result == expr.Miss {
		s.filter.logLimited(logInfo, "kvsteer: routing built"+string(s.appendChoice(nil)))
	}
}

// logAccepted tells how a request was routed, where somebody listens.
func (s *stream) logAccepted() {
	if s.filter.debugging {
		s.filter.log(logDebug, "kvsteer: routing accepted"+string(s.appendRequest(s.appendChoice(nil))))
	}
}

// logRejected tells of an expression or header that was refused.
func (s *stream) logRejected(r *expr.Rejection) {
	t := s.route
	b := append([]byte("kvsteer: routing rejected code="), r.Code.String()...)
	b = appendField(b, "reason", r.Reason.String())
	b = appendQuoted(b, "parameter", r.Parameter)
	b = appendField(b, "header", r.Header)
	b = appendQuoted(b, "model", t.request.Model)
	b = appendField(b, "routing_key_present", strconv.FormatBool(t.request.RoutingKey != ""))
	b = appendQuoted(b, "raw", t.value)
	s.filter.logLimited(logWarn, string(b))
}

// appendChoice appends what is known of the definition and its choice.
func (s *stream) appendChoice(b []byte) []byte {
	t := s.route
	c, n := &t.choice, len(s.pool.View().Endpoints())
	d := c.Definition.Stargate()
	b = appendQuoted(b, "routing.expression", c.Canonical)
	b = appendField(b, "routing.algorithm", c.Algorithm)
	b = appendQuoted(b, "routing.requested_algorithm", c.Requested)
	b = appendQuoted(b, "routing.base", c.Base)
	b = appendField(b, "routing.cache", c.Result.String())
	if comparator, ok := d.Comparator(); ok {
		b = appendField(b, "routing.comparator", comparator.String())
		b = appendNumber(b, "routing.sample_count_configured", uint64(d.Samples(math.MaxInt)))
		b = appendNumber(b, "routing.sample_count_effective", uint64(d.Samples(n)))
	}
	return appendNumber(b, "routing.num_candidates", uint64(n))
}

// appendRequest appends how the pick went and what the request said.
func (s *stream) appendRequest(b []byte) []byte {
	t, o := s.route, s.filter.routed.runner.Outcome()
	b = appendNumber(b, "routing.rank_depth", uint64(o.RankDepth))
	b = appendField(b, "routing.selected_after_kv_free_tokens_skip", strconv.FormatBool(o.KVSkip))
	b = appendNumber(b, "routing.retry_attempts", uint64(t.retries))
	b = appendNumber(b, "request.input_tokens", t.request.InputTokens)
	b = appendNumber(b, "request.priority", uint64(t.request.Priority))
	b = appendNumber(b, "request.max_wait_ms", uint64(t.maxWait/time.Millisecond))
	b = appendNumber(b, "request.slo_ms", t.request.SLO)
	return appendField(b, "request.cache_affinity_key_present", strconv.FormatBool(t.request.AffinityKey != ""))
}

// appendField appends a name and a value that needs no quotes; "" is left out.
func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(b, ' '), name...)
	return append(append(b, '='), value...)
}

func appendNumber(b []byte, name string, value uint64) []byte {
	return appendField(b, name, strconv.FormatUint(value, 10))
}

// appendQuoted appends a name and text that may hold anything; "" is left out.
func appendQuoted(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(b, ' '), name...)
	return append(expr.AppendLogged(append(b, '=', '"'), value), '"')
}
