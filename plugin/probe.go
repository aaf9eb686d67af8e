// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// probe finds out whether Envoy shows a body while headers wait, that is
// whether the filter has allow_on_headers_stop_iteration (Istio's WasmPlugin
// can't set it). Without the flag a waiting request sees nothing until a tick
// releases it, and its body comes right behind the release; with it a body
// that comes so late is a slow client's.
//
// A body shown to a waiting stream settles "present" for good. Three streams
// whose body came within 10 ms of their release, and none shown before, mean
// "missing": streams then go by their headers alone, but for one a minute that
// waits again, in case the configuration has been mended.
type probe struct {
	present bool
	strikes int
	again   time.Duration // when the next stream may wait although the flag is missing
}

const (
	strikesMissing = 3
	strikeTime     = 10 * time.Millisecond
	probeAgain     = time.Minute
	probeKey       = "body_missing"
)

// mayWait reports whether a stream's headers may wait for its body.
func (p *probe) mayWait(now time.Duration) bool {
	if p.present || p.strikes < strikesMissing {
		return true
	}
	if now < p.again {
		return false
	}
	p.again = now + probeAgain
	return true
}

// shown notes a body that came while its headers waited.
func (p *probe) shown() { p.present, p.strikes = true, 0 }

// late notes a body whose first bytes came this long after the release of its
// headers. It reports whether the flag is found missing by it.
func (p *probe) late(after, now time.Duration) bool {
	if p.present || after > strikeTime {
		return false
	}
	p.strikes++
	if p.strikes == strikesMissing {
		p.again = now + probeAgain
	}
	return p.strikes == strikesMissing
}

// missing takes over what another VM has found.
func (p *probe) missing(now time.Duration) {
	if !p.present && p.strikes < strikesMissing {
		p.strikes, p.again = strikesMissing, now+probeAgain
	}
}
