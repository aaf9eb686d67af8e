// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"net/http"
)

// Control returns a handler that shows and steers engines from outside their
// process. It stands on a port of its own, so that an engine that refuses
// connections can still be told to stop doing so.
//
//	GET    /engines                    name, address, sums and fault of each
//	GET    /engines/{name}/requests    the kept requests, bodies in base64
//	DELETE /engines/{name}/requests    drops them
//	PUT    /engines/{name}/fault       a Fault as JSON; {} ends it
//	POST   /engines/{name}/restart     starts over with an empty cache
func Control(engines ...*Engine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /engines", func(w http.ResponseWriter, _ *http.Request) {
		var out []object
		for _, e := range engines {
			out = append(out, e.describe())
		}
		json.NewEncoder(w).Encode(out) // a lost client
	})
	on := func(pattern string, do func(*Engine, http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			e := find(engines, r.PathValue("name"))
			if e == nil {
				http.NotFound(w, r)
				return
			}
			if err := do(e, w, r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		})
	}
	on("GET /engines/{name}/requests", func(e *Engine, w http.ResponseWriter, _ *http.Request) error {
		return json.NewEncoder(w).Encode(e.Received())
	})
	on("DELETE /engines/{name}/requests", func(e *Engine, _ http.ResponseWriter, _ *http.Request) error {
		e.Forget()
		return nil
	})
	on("PUT /engines/{name}/fault", func(e *Engine, _ http.ResponseWriter, r *http.Request) error {
		var f Fault
		if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
			return err
		}
		return e.SetFault(f)
	})
	on("POST /engines/{name}/restart", func(e *Engine, _ http.ResponseWriter, _ *http.Request) error {
		return e.Restart()
	})
	return mux
}

func (e *Engine) describe() object {
	e.mu.Lock()
	defer e.mu.Unlock()
	return object{"name": e.Name(), "address": e.Address(), "stats": e.stats, "fault": e.fault}
}

func find(engines []*Engine, name string) *Engine {
	for _, e := range engines {
		if e.Name() == name {
			return e
		}
	}
	return nil
}
