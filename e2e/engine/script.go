// SPDX-License-Identifier: Apache-2.0

package engine

import "net/http"

// A Script makes an engine show what a test wants instead of what it does.
type Script struct {
	Metrics string      // the whole metrics page; "": the engine's own
	Header  http.Header // further headers of each answer
}

// SetScript replaces the script; the zero Script ends it.
func (e *Engine) SetScript(s Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.script = s
}

func (e *Engine) scripted() Script {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.script
}
