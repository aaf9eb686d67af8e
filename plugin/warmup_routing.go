// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/routing"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// warmUpRouting goes through what expressions meet, over a pool and a router
// that are forgotten afterwards.
func (f *filter) warmUpRouting(p *policy.Pool, prompt *policy.Request) {
	if f.router == nil {
		return
	}
	catalog, err := routing.Catalog()
	if err != nil {
		return
	}
	config, err := catalog.ParseConfig(warmUpSection, "")
	if err != nil {
		return
	}
	for _, e := range p.View().Endpoints() {
		p.View().Report(e, load.Stats{At: prompt.Now, Waiting: 1, Running: 1, MaxConcurrency: 4, KVCapacity: 9999, KVFree: 9999})
	}
	router, runner := routing.NewRouter(config, 1, nil, nil), routing.NewRunner(1, stargate.Limits{})
	for _, line := range warmUpExpressions {
		t := f.router.borrow()
		headers := headerMapOf([][2]string{
			{expr.HeaderMethod, line}, {expr.HeaderModel, "m"}, {expr.HeaderRoutingKey, "k"}, {expr.HeaderAffinityKey, "a"},
			{expr.HeaderInputTokens, "10"}, {expr.HeaderPriority, "1"}, {expr.HeaderSLO, "10"}, {expr.HeaderMaxWait, "10"},
		})
		classify(headers, &f.shapes, t)
		if t.read() != nil {
			return
		}
		for range 2 { // built, then found
			c, rejection := router.Resolve(expr.Query{Model: "m", Value: t.value, Lines: 1}, prompt.Now)
			if rejection != nil {
				rejection.AppendBody(nil)
				break
			}
			router.Settle(&c, 2, prompt.Now)
			runner.Admit(c.Definition, p, &t.request, prompt)
			d := p.Pick(runner.Bind(c.Definition, c.Instance, p, &t.request), prompt)
			c.Definition.Trim(&d)
		}
		f.router.giveBack(t)
	}
}

const warmUpSection = `{"request_parameters":["seed","n","max_input_work_seconds"],"request_algorithms":{"power-of-n":"power-of-n",
	"wait-and-widen":{"algorithm":"wait-and-widen","cache_affinity_backend_selection_count":1,"max_queue_time_floor_ms":1,"max_queue_time_ceil_ms":9},
	"round-robin":"round-robin","pulsar":"pulsar","pulsar-wait-and-widen":"pulsar-wait-and-widen"}}`

var warmUpExpressions = []string{
	"prefix-aware", "power-of-two;max_input_work_seconds=9.5", `wait_and_widen; seed="a b";n=1`, "round-robin", "pulsar;seed=a", "pulsar-multiregion", "pulsar;n=1",
}
