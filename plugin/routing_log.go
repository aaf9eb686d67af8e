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
		s.filter.logLimited(logInfo, "kvsteer: routing built"+s.choiceFields())
	}
}

// logAccepted tells how a request was routed, where somebody listens.
func (s *stream) logAccepted() {
	if s.filter.debugging {
		s.filter.log(logDebug, "kvsteer: routing accepted"+s.choiceFields()+s.requestFields())
	}
}

// logRejected tells of an expression or header that was refused.
func (s *stream) logRejected(r *expr.Rejection) {
	t := s.route
	line := "kvsteer: routing rejected code=" + r.Code.String()
	for _, f := range [...][2]string{
		{"reason", r.Reason.String()},
		{"parameter", quoted(r.Parameter)},
		{"header", r.Header},
		{"model", quoted(t.request.Model)},
		{"routing_key_present", strconv.FormatBool(t.request.RoutingKey != "")},
		{"raw", quoted(t.value)},
	} {
		line = withField(line, f[0], f[1])
	}
	s.filter.logLimited(logWarn, line)
}

// choiceFields is what is known of the definition.
func (s *stream) choiceFields() (line string) {
	c, n := &s.route.choice, len(s.pool.View().Endpoints())
	d := c.Definition.Stargate()
	comparator, configured, effective := "", "", ""
	if by, ok := d.Comparator(); ok {
		comparator = by.String()
		configured, effective = strconv.Itoa(d.Samples(math.MaxInt)), strconv.Itoa(d.Samples(n))
	}
	for _, f := range [...][2]string{
		{"routing.expression", whole(c.Canonical)},
		{"routing.algorithm", c.Algorithm},
		{"routing.requested_algorithm", quoted(c.Requested)},
		{"routing.base", quoted(c.Base)},
		{"routing.cache", c.Result.String()},
		{"routing.comparator", comparator},
		{"routing.sample_count_configured", configured},
		{"routing.sample_count_effective", effective},
		{"routing.num_candidates", strconv.Itoa(n)},
	} {
		line = withField(line, f[0], f[1])
	}
	return line
}

// requestFields is how the pick went and what the request said.
func (s *stream) requestFields() (line string) {
	t, o := s.route, s.filter.routed.runner.Outcome()
	for _, f := range [...][2]string{
		{"routing.rank_depth", strconv.Itoa(o.RankDepth)},
		{"routing.selected_after_kv_free_tokens_skip", strconv.FormatBool(o.KVSkip)},
		{"routing.retry_attempts", strconv.Itoa(t.retries)},
		{"request.input_tokens", strconv.FormatUint(t.request.InputTokens, 10)},
		{"request.priority", strconv.FormatUint(uint64(t.request.Priority), 10)},
		{"request.max_wait_ms", strconv.FormatInt(t.maxWait.Milliseconds(), 10)},
		{"request.slo_ms", strconv.FormatUint(t.request.SLO, 10)},
		{"request.cache_affinity_key_present", strconv.FormatBool(t.request.AffinityKey != "")},
	} {
		line = withField(line, f[0], f[1])
	}
	return line
}

// withField is a line with one more field; one without a value is left out.
func withField(line, name, value string) string {
	if value == "" {
		return line
	}
	return line + " " + name + "=" + value
}

// quoted is text that may hold anything, cut and escaped; "" stays "".
func quoted(text string) string {
	if text == "" {
		return ""
	}
	return `"` + string(expr.AppendLogged(nil, text)) + `"`
}

// whole is text of printable ASCII, escaped but not cut.
func whole(text string) string {
	if text == "" {
		return ""
	}
	return strconv.Quote(text)
}
