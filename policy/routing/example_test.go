// SPDX-License-Identifier: Apache-2.0

package routing_test

import (
	"fmt"
	"time"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/routing"
	"github.com/kvsteer/kvsteer/policy/stargate"
	"github.com/kvsteer/kvsteer/policy/table"
)

// The way of a request with an expression, from its headers to an endpoint.
func Example() {
	catalog, err := routing.Catalog()
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := catalog.ParseConfig(`{"request_algorithms": {"pulsar": "pulsar"}}`, "/routing")
	if err != nil {
		fmt.Println(err)
		return
	}
	router, runner := routing.NewRouter(config, 1, nil, nil), routing.NewRunner(1, stargate.Limits{})
	pool := examplePool()

	var headers expr.Headers
	headers.Add("x-routing-method", "Pulsar; seed=v1")
	headers.Add("x-model", "chat-large")
	headers.Add("x-cache-affinity-key", "conversation-9")
	request, _ := headers.Parse(true)
	value, lines := headers.Method()

	now := time.Second
	choice, rejection := router.Resolve(expr.Query{Model: request.Model, Value: value, Lines: lines}, now)
	if rejection != nil {
		fmt.Println(rejection.Code.Status(), string(rejection.AppendBody(nil)))
		return
	}
	router.Settle(&choice, len(pool.View().Endpoints()), now)
	q := &stargate.Request{Model: request.Model, AffinityKey: request.AffinityKey}
	decision := pool.Pick(runner.Bind(choice.Definition, choice.Instance, pool, q), &policy.Request{Now: now})
	fmt.Println(choice.Canonical, choice.Result)
	for _, e := range decision.Endpoints[:decision.N] {
		fmt.Println(e.ID)
	}
	// Output:
	// pulsar;seed=v1 miss
	// 10.0.0.1:8000
	// 10.0.0.3:8000
	// 10.0.0.2:8000
}

func examplePool() *policy.Pool {
	t, err := table.New(table.Sized(1<<20, 8))
	if err != nil {
		fmt.Println(err)
	}
	p := policy.NewPool(policy.Settings{}, policy.DefaultPrefixAware(), t)
	p.SetEndpoints([]load.Spec{
		{ID: "10.0.0.1:8000", Healthy: true}, {ID: "10.0.0.2:8000", Healthy: true}, {ID: "10.0.0.3:8000", Healthy: true},
	})
	return p
}
