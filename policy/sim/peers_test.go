// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"testing"
)

// handGateway is a gateway that sees these loads.
func handGateway(loads ...Load) *Gateway {
	g := &Gateway{Count: 1, Model: SimpleModel(), Loads: loads, Random: rand.New(rand.NewPCG(1, 1))}
	for range loads {
		g.fleet = append(g.fleet, newEngine(g.Model, len(g.fleet)))
	}
	return g
}

// handRequest is 10 blocks whose first shared ones are 1, 2, 3 …, the others
// are of the request.
func handRequest(number, shared int) *Request {
	r := &Request{Input: 10 * BlockTokens, Key: 1000*number + 9}
	for k := range 10 {
		block := 1000*number + k
		if k < shared {
			block = k + 1
		}
		r.Blocks = append(r.Blocks, block)
	}
	return r
}

// believing makes a policy's table hold the first blocks of a shared prompt.
func believing(b beliefs, engine, blocks int) { b[engine].use(handRequest(0, 10).Blocks[:blocks]) }

// handCase is one choice that was worked out by hand.
type handCase struct {
	name   string
	make   func(g *Gateway) Policy
	loads  []Load
	shared int // blocks of the request that the tables know
	want   int
}

var handCases = []handCase{
	{
		// Loads 3, 1, 2 by requests.
		"least request", newLeastRequests, []Load{{Requests: 3}, {Requests: 1}, {Requests: 2}}, 0, 1,
	},
	{
		"least tokens", newLeastTokens, []Load{{Queue: 300}, {Queue: 200}, {Queue: 100, Requests: 9}}, 0, 2,
	},
	{
		// Two engines, so both samples are them or one of them twice: the worse
		// is chosen only where it is drawn twice. Seed 1 draws both.
		"two choices", newTwoChoices, []Load{{Requests: 9}, {Requests: 0}}, 0, 1,
	},
	{
		// Engine 0 matches 4 of 10 > 0.3, and 60 - 0 is not above 64.
		"smg sticks while balanced",
		func(g *Gateway) Policy {
			p := newSMG(g).(*smg)
			p.touch(handRequest(0, 10).Blocks[:4], 0)
			return p
		},
		[]Load{{Requests: 60}, {}}, 4, 0,
	},
	{
		// 70 - 0 > 64 and 70 > 1.5 · 0: shortest queue.
		"smg leaves an imbalanced owner",
		func(g *Gateway) Policy {
			p := newSMG(g).(*smg)
			p.touch(handRequest(0, 10).Blocks[:4], 0)
			return p
		},
		[]Load{{Requests: 70}, {}}, 4, 1,
	},
	{
		// 3 of 10 is not above 0.3: least load.
		"smg takes the least loaded below the threshold",
		func(g *Gateway) Policy {
			p := newSMG(g).(*smg)
			p.touch(handRequest(0, 10).Blocks[:3], 0)
			return p
		},
		[]Load{{Requests: 2}, {Requests: 1}}, 3, 1,
	},
	{
		// Engine 0: 2 · 0 + 2 · (1 - 0.5) + 3 · 0.6 = 2.8; engine 1: 2 · 1 + 2 · 0.8 + 0 = 3.6.
		"llm-d weighs queue and KV use against the prefix",
		func(g *Gateway) Policy {
			p := newLLMD(g).(*llmd)
			believing(p.tables, 0, 6)
			return p
		},
		[]Load{{Waiting: 4, KVUse: 0.5}, {KVUse: 0.2}}, 6, 1,
	},
	{
		// Engine 0: 0 + 1 + 3 · 0.9 = 3.7 against 3.6.
		"llm-d follows a longer prefix",
		func(g *Gateway) Policy {
			p := newLLMD(g).(*llmd)
			believing(p.tables, 0, 9)
			return p
		},
		[]Load{{Waiting: 4, KVUse: 0.5}, {KVUse: 0.2}}, 9, 0,
	},
	{
		// 0.8 of the prompt, 13 s more queue than the idle one.
		"sticky until saturated",
		func(g *Gateway) Policy {
			p := newSticky(g).(*sticky)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Queue: 13 * 8000}, {}}, 8, 0,
	},
	{
		"sticky lets go when saturated",
		func(g *Gateway) Policy {
			p := newSticky(g).(*sticky)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Queue: 15 * 8000}, {}}, 8, 1,
	},
	{
		// Prefill (2048 + 2 · 512)/512 = 6 and 3 blocks held: 9. The other: 10 and 0.
		"dynamo adds decode blocks",
		func(g *Gateway) Policy {
			p := newDynamo(g).(*dynamo)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Queue: 2048, Blocks: 3}, {}}, 8, 0,
	},
	{
		// With 5 blocks held it is 11 against 10.
		"dynamo leaves a decoding engine",
		func(g *Gateway) Policy {
			p := newDynamo(g).(*dynamo)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Queue: 2048, Blocks: 5}, {}}, 8, 1,
	},
	{
		// 2 · 512 · (3 + 1) = 4,096 against 10 · 512 · 1 = 5,120.
		"lmetric multiplies with the batch",
		func(g *Gateway) Policy {
			p := newLMetric(g).(*lmetric)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Requests: 3}, {}}, 8, 0,
	},
	{
		// 2 · 512 · (4 + 1) = 5,120 is no less; with five requests 6,144.
		"lmetric leaves a large batch",
		func(g *Gateway) Policy {
			p := newLMetric(g).(*lmetric)
			believing(p.tables, 0, 8)
			return p
		},
		[]Load{{Requests: 5}, {}}, 8, 1,
	},
	{
		"production-stack never looks at load",
		func(g *Gateway) Policy {
			p := newPrefixTrie(g).(*prefixTrie)
			believing(p.trie, 0, 1)
			return p
		},
		[]Load{{Requests: 500, Queue: 1e6}, {}}, 1, 0,
	},
}

func TestPeersChooseAsPublished(t *testing.T) {
	for _, c := range handCases {
		t.Run(c.name, func(t *testing.T) {
			got, _ := c.make(handGateway(c.loads...)).Pick(handRequest(1, c.shared), 0)
			if got != c.want {
				t.Errorf("engine %d, want %d", got, c.want)
			}
		})
	}
}

// TestBoundedHashesPassOverFullEngines: the mean with this request is
// (8 + 1)/3 = 3, so an engine may have 3.75 requests; the first of the key's
// order that has fewer takes it.
func TestBoundedHashesPassOverFullEngines(t *testing.T) {
	for name, make := range map[string]func(*Gateway) Policy{"kubeai": newRing, "rendezvous": newBoundedHash} {
		t.Run(name, func(t *testing.T) {
			r := handRequest(3, 0)
			first, _ := make(handGateway(Load{}, Load{}, Load{})).Pick(r, 0)
			for requests, stays := range map[float64]bool{3: true, 4: false} {
				loads := []Load{{Requests: 2}, {Requests: 2}, {Requests: 2}}
				loads[first].Requests = requests
				loads[(first+1)%3].Requests += 4 - requests
				got, _ := make(handGateway(loads...)).Pick(r, 0)
				if (got == first) != stays {
					t.Errorf("with %v requests on engine %d the choice is %d", requests, first, got)
				}
			}
		})
	}
}

// TestOracleSeesCaches: 1,000 + 3 · 1,024 against 3 · 5,120.
func TestOracleSeesCaches(t *testing.T) {
	g := handGateway(Load{Queue: 1000}, Load{})
	g.fleet[0].cache.use(handRequest(0, 10).Blocks[:8])
	if got, uncached := newOracle(g).Pick(handRequest(1, 8), 0); got != 0 || uncached != 1024 {
		t.Errorf("engine %d, %v tokens, want 0 and 1024", got, uncached)
	}
	g.Loads[0].Queue = 3*5120 - 3*1024 + 1
	if got, _ := newOracle(g).Pick(handRequest(1, 8), 0); got != 1 {
		t.Errorf("engine %d, want the idle 1", got)
	}
}

// TestPoliciesPickWhoIsUp: no policy chooses an engine that is down.
func TestPoliciesPickWhoIsUp(t *testing.T) {
	for _, m := range Makers() {
		t.Run(m.Name, func(t *testing.T) {
			g := handGateway(Load{Down: true}, Load{}, Load{Down: true}, Load{})
			p := m.New(g)
			for n := range 60 {
				if e, _ := p.Pick(handRequest(n, n%10), float64(n)); e != 1 && e != 3 {
					t.Fatalf("request %d went to engine %d, which is down", n, e)
				}
			}
		})
	}
}
