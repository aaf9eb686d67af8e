// SPDX-License-Identifier: Apache-2.0

package sim

import "github.com/kvsteer/kvsteer/policy"

// infiniteName is the bound whose engines share one unbounded cache.
const infiniteName = "infinite-cache"

// Makers are all policies: the project's own, bounds, peers, baselines.
func Makers() []Maker {
	var out []Maker
	for _, d := range policy.Definitions() {
		out = append(out, own(d))
	}
	return append(out,
		Maker{"greedy-oracle", "bound: true caches, queue + 3 · uncached", newOracle},
		Maker{"greedy-oracle-fresh", "bound: and true queues", newFreshOracle},
		Maker{infiniteName, "bound: one cache for all that never evicts", newInfinite},
		Maker{"sticky-until-saturated", "llm-d, 0.8 and 14 s", newSticky},
		Maker{"llm-d", "llm-d's default weights 2/2/3", newLLMD},
		Maker{"llm-d-without-kv", "the same without its KV-use score", newLLMDWithoutKV},
		Maker{"dynamo", "prefill + decode blocks", newDynamo},
		Maker{"dynamo-prefill", "queue + uncached", newDynamoPrefill},
		Maker{"lmetric", "uncached × (requests + 1)", newLMetric},
		Maker{"smg-cache-aware", "0.3 / 64 / 1.5", newSMG},
		Maker{"kubeai-chwbl", "ring of the key, bound 1.25", newRing},
		Maker{"hrw-bounded", "rendezvous of the key, bound 1.25", newBoundedHash},
		Maker{"production-stack-prefixaware", "trie, random of the deepest", newPrefixTrie},
		Maker{"least-tokens", "fewest queued tokens", newLeastTokens},
		Maker{"least-request", "fewest requests", newLeastRequests},
		Maker{"p2c", "fewer requests of two", newTwoChoices},
		Maker{"plain-round-robin", "in turn", newRoundRobin},
		Maker{"plain-random", "at random", newRandom},
	)
}

// own makes one of the project's own algorithms.
func own(d policy.Definition) Maker {
	return Maker{d.Name(), "kvsteer", func(g *Gateway) Policy { return newSteered(g, d) }}
}

// Find is the policy of this name.
func Find(name string) (Maker, bool) {
	for _, m := range Makers() {
		if m.Name == name {
			return m, true
		}
	}
	return Maker{}, false
}
