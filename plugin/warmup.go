// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/prefix"
	"github.com/kvsteer/kvsteer/policy/table"
)

// warmUp sends a few requests through all that a request meets, over a pool of
// its own. V8 compiles a function at its first call, which costs a first
// request 100 ms where nobody did so before (measured with Go 1.26 in V8).
func (f *filter) warmUp() {
	p := warmUpPool()
	p.SetEndpoints([]load.Spec{{ID: "192.0.2.1:80", Healthy: true}, {ID: "192.0.2.2:80", Healthy: true}})
	headers := headerMapOf([][2]string{
		{":method", "POST"}, {":path", "/v1/chat/completions"},
		{"content-type", "application/json"}, {"content-length", "600"},
	})
	c := prefix.Config{Seed: 1, MaxBytes: f.prompt.MaxBytes}
	var flight load.Flight
	r := &reader{}
	for i := range 3 {
		now := time.Duration(i) * time.Second
		shape := classify(headers, &f.shapes, nil).shape
		r.tried, r.ended = 0, false
		r.Reset(&c, shape)
		r.Write([]byte(warmUpBody))
		q := r.ask(len(warmUpBody)+100, now)
		p.Early(nil, q)
		r.end()
		q = r.ask(len(warmUpBody), now)
		d := p.Pick(nil, q)
		if d.N == 0 {
			return
		}
		p.Start(&flight, d.First(), &d, q, true)
		p.Learn(d.First(), q, 0)
		flight.First(now)
		flight.End()
		f.destination(&d)
		f.warmUpAnswer(p, d.First(), q)
		p.View().Tick(now)
	}
	f.warmUpRouting(p, r.ask(len(warmUpBody), 3*time.Second))
}

// warmUpPool is a pool that is forgotten afterwards, with a small table.
func warmUpPool() *policy.Pool {
	t, _ := table.New(table.Config{Endpoints: 4, Slots: 256, Nodes: 256}) // these sizes are in range
	return policy.NewPool(policy.Settings{Gateways: 2}, policy.Definitions()[0], t)
}

// warmUpBody has one of everything that costs the scanner a function: tools,
// parts, escapes, characters beyond ASCII, a tool call, numbers.
const warmUpBody = `{"model":"m","temperature":0.7,"stream":true,"max_tokens":64,` +
	`"messages":[{"role":"system","content":"Be brief.\nUse \"plain\" words, \u00e9\ud83d\ude00."},` +
	`{"role":"user","content":[{"type":"text","text":"Grüße, 你好. ` +
	`A sentence that is long enough for the hash to take its wide steps through it, again and again and again, ` +
	`until more than two hundred and fifty-six bytes have gone by, which is where the first block of a prompt ends, ` +
	`so that the boundary is drawn here and the chain goes on."},` +
	`{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},` +
	`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
	`{"role":"tool","tool_call_id":"c","content":"42"}],` +
	`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"number"}}}}}]}`
