// SPDX-License-Identifier: Apache-2.0

package stargate

// Admission is the answer of the input-work limit.
type Admission uint8

// The answers. Both refusals are one error to clients.
const (
	Admitted   Admission = iota
	OverLimit            // more work is waiting than the limit allows
	NoCapacity           // there is work and no endpoint with a valid rate
	admissionCount
)

var admissions = [admissionCount + 1]string{"", "input_work_limit_exceeded", "input_work_capacity_unavailable"}

// String returns the reason as in metrics, "" for Admitted.
func (a Admission) String() string { return admissions[min(a, admissionCount)] }

// Admit judges whether the endpoints that the definition may choose from could
// work off the prompts that wait, this one's included, within the definition's
// limit. It admits where there is no limit or no eligible endpoint.
func Admit(d *Definition, r *Request, endpoints []Endpoint) Admission {
	if !d.Limited() {
		return Admitted
	}
	work, rate := float64(r.InputTokens), 0.0
	eligible := false
	for i := range endpoints {
		e := &endpoints[i]
		if e.Excluded {
			continue
		}
		eligible = true
		if d.Ranks() && (e.rate() == 0 || d.considerKV && !e.holds(r)) {
			continue
		}
		work += float64(e.QueuedInputTokens)
		rate += e.rate()
	}
	switch seconds := work / rate; {
	case !eligible:
		return Admitted
	case !(rate > 0) || !isFinite(rate) || !isFinite(seconds):
		return NoCapacity
	case seconds > d.maxWork:
		return OverLimit
	}
	return Admitted
}
