// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math/rand/v2"

	"github.com/kvsteer/kvsteer/policy/hrw"
	"github.com/kvsteer/kvsteer/policy/load"
)

// Need is the least that an algorithm must know of a request to be final.
type Need uint8

const (
	NeedNothing Need = iota // decides on load alone: never wait for a body
	NeedKey                 // the conversation key
	NeedPrompt              // the prompt, or so much of it that the rest doesn't matter
)

// met reports whether r has what a choice needs to be final.
func (n Need) met(r *Request) bool {
	return r.Complete || n == NeedNothing || n == NeedKey && r.KeyKnown
}

// Definition is an algorithm with its parameters. It is immutable.
type Definition interface {
	Name() string // as in configurations and expressions
	Need() Need
	New(seed uint64) Instance // state for one pool; a stateless algorithm returns itself
}

// Instance ranks the candidates of one draw.
type Instance interface {
	Definition
	// Rank appends to d.Ranked up to MaxChoices of d.Candidates, best first,
	// each once. d has at least one candidate.
	Rank(d *Draw)
}

// Draw is one look at a pool for one request. It is the pool's and valid
// during the pick only.
type Draw struct {
	Request    *Request
	Candidates []int // positions in the view of endpoints that may be chosen, ascending
	Ranked     []int // the outcome

	pool  *Pool
	prior int // Decision.Prior
	hoped int // what of it the first is believed to hold
}

// Endpoint is the one at this position of the view.
func (d *Draw) Endpoint(at int) *load.Endpoint { return d.pool.view.Endpoints()[at] }

// Nodes are the candidates for rendezvous hashing, in the order of Candidates.
func (d *Draw) Nodes() []hrw.Node { return d.pool.nodesOf(d.Candidates) }

// Definitions are the algorithms with their default parameters, the default first.
func Definitions() []Definition {
	return []Definition{DefaultPrefixAware(), DefaultTopology(), LeastLoad{}, RoundRobin{}, Random{}}
}

// Lookup is the algorithm of this name with its default parameters.
func Lookup(name string) (Definition, bool) {
	for _, d := range Definitions() {
		if d.Name() == name {
			return d, true
		}
	}
	return nil, false
}

// newRand is the random stream of an instance. The second word ("kvsteer") keeps
// it apart from what others draw from the same seed.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6b767374656572)) }
