// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/http"
)

// A FaultKind names a way to misbehave.
type FaultKind string

// The ways to misbehave. Refuse takes effect on connections, the others on
// requests that arrive afterwards.
const (
	None   FaultKind = ""
	Refuse FaultKind = "refuse" // closes the port: connections are refused
	Hang   FaultKind = "hang"   // reads the request and never answers
	Reset  FaultKind = "reset"  // reads the request and cuts the connection
	Status FaultKind = "status" // answers with Fault.Status
	Slow   FaultKind = "slow"   // multiplies each duration by Fault.Factor
)

// A Fault is what an engine does wrong.
type Fault struct {
	Kind   FaultKind `json:"kind"`
	Status int       `json:"status,omitempty"` // of Status
	Factor float64   `json:"factor,omitempty"` // of Slow
	Times  int       `json:"times,omitempty"`  // ends after so many requests; 0: lasts until changed
}

func (f Fault) check() error {
	switch f.Kind {
	case None, Refuse, Hang, Reset:
		return nil
	case Status:
		if f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("engine: fault status %d is not in 400..599", f.Status)
		}
		return nil
	case Slow:
		if f.Factor <= 0 {
			return fmt.Errorf("engine: fault factor %v is not above 0", f.Factor)
		}
		return nil
	}
	return fmt.Errorf("engine: unknown fault %q", f.Kind)
}

// SetFault replaces the engine's fault; the zero Fault ends it and lets the
// requests that hang go on.
func (e *Engine) SetFault(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	e.mu.Lock()
	was := e.fault.Kind
	e.fault = f
	close(e.cleared)
	e.cleared = make(chan struct{})
	e.mu.Unlock()
	switch {
	case f.Kind == Refuse:
		e.listener.close()
	case was == Refuse:
		return e.listener.open(e.Address(), e.handler())
	}
	return nil
}

// takeFault returns the fault that the request that has just come meets, and
// what is closed when that fault ends.
func (e *Engine) takeFault() (Fault, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.fault
	if f.Times > 0 {
		e.fault.Times--
		if e.fault.Times == 0 {
			e.fault = Fault{}
		}
	}
	return f, e.cleared
}

// misbehave acts the current fault out and tells whether that was the answer.
func (e *Engine) misbehave(w http.ResponseWriter, r *http.Request) (answered bool) {
	fault, cleared := e.takeFault()
	switch fault.Kind {
	case Hang:
		select {
		case <-cleared:
			return false
		case <-r.Context().Done():
			return true
		}
	case Reset:
		cut(w)
		return true
	case Status:
		fail(w, fault.Status, "the engine was told to fail")
		return true
	}
	return false
}

// cut closes a request's connection without an answer.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2: net/http resets the stream
	}
	conn.Close()
}
