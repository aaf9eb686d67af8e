// SPDX-License-Identifier: Apache-2.0

package load

import "time"

const (
	backOffFirst = time.Second      // after one failure
	backOffMost  = 30 * time.Second // the doubling ends here
	openFailures = 5                // failures …
	openWindow   = 10 * time.Second // … within this time open the circuit
)

// failures is the memory of what went wrong on an endpoint. A failure makes it
// dearer by the back-off, which fades to nothing in its own length: 1 s after
// the first failure, twice as long after each further one, at most 30 s. Five
// failures within 10 s open the circuit for one back-off; then one request is
// let through, and its outcome closes or opens it again.
type failures struct {
	left    float64                     // seconds of the back-off that are left, at the last Tick
	backOff time.Duration               // 0 = none since the last success
	last    time.Duration               // time of the newest failure
	recent  [openFailures]time.Duration // times of the newest failures, a ring
	count   int                         // failures since the last success
	open    bool
	trying  bool // half-open, and the one request is under way
}

func (f *failures) fail(now time.Duration) {
	f.backOff = min(max(2*f.backOff, backOffFirst), backOffMost)
	f.last = now
	f.recent[f.count%openFailures] = now
	f.count++
	f.trying = false
	oldest := f.recent[f.count%openFailures]
	f.open = f.open || f.count >= openFailures && now-oldest <= openWindow
}

// due reports whether a request may be sent although the circuit is open: as
// the trial, if none is under way.
func (f *failures) due(now time.Duration) bool {
	return now-f.last >= f.backOff && !f.trying
}

// try notes that a request is sent; it reports whether it is the trial.
func (f *failures) try() bool {
	if !f.open || f.trying {
		return false
	}
	f.trying = true
	return true
}

// fade brings left up to date.
func (f *failures) fade(now time.Duration) {
	f.left = 0
	if f.backOff > 0 {
		f.left = max(0, f.backOff-(now-f.last)).Seconds()
	}
}

// Fail notes that e has failed a request: refused, reset, timed out or
// answered with a server error.
func (e *Endpoint) Fail(now time.Duration) {
	e.failures.fail(now)
	e.failures.fade(now)
	e.publish()
}

// Succeed notes that e has answered; it forgets earlier failures.
func (e *Endpoint) Succeed() {
	if e.failures.count > 0 {
		e.failures = failures{}
		e.publish()
	}
}

// Failing reports whether e has failed since it last answered.
func (e *Endpoint) Failing() bool { return e.failures.count > 0 }

// Open reports whether e's circuit is open or half-open.
func (e *Endpoint) Open() bool { return e.failures.open }
