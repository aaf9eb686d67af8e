// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// AgentLoad is coding agents at work: each kind of agent has its own tools (60
// to 100 KB of definitions), each session its task, and each turn sends the
// whole conversation with the results of the last tools. Now and then an agent
// sends a burst of siblings, which all begin with its conversation so far.
type AgentLoad struct {
	Kinds    int     // kinds of agents; 0 = 12
	Tools    int     // blocks of a kind's tools; 0 = 60 to 100 KB, by kind
	Turns    int     // turns of a session; 0 = 20
	Sessions float64 // new sessions/s, Poisson; 0 = 0.35
	Seconds  float64 // sessions begin within; 0 = 600
	Seed     uint64
}

const (
	agentTurns     = 20  // turns of a session
	siblingTurns   = 4   // turns of a sibling
	siblingMost    = 5   // siblings of a burst, from 2
	siblingChance  = 0.1 // bursts for each turn
	agentThink     = 6.0 // mean seconds from an answer to the next turn: tools run
	agentPace      = 40  // tokens/s that an answer is assumed to take
	agentOutput    = 250 // mean tokens of an answer
	agentKinds     = 12
	agentRate      = 0.35
	toolsLeast     = 60_000 / (BlockTokens * bytesPerToken) // blocks of 60 KB
	toolsMost      = 100_000 / (BlockTokens * bytesPerToken)
	taskBlocksMost = 3
	turnBlocksMost = 4
)

// agents is the state of a generation.
type agents struct {
	AgentLoad
	*rand.Rand
	fresh int     // next unused block number
	tools [][]int // blocks of each kind's tools
	out   []Request
}

// Generate makes the trace.
func (a AgentLoad) Generate() Trace {
	if a.Kinds == 0 {
		a.Kinds = agentKinds
	}
	if a.Turns == 0 {
		a.Turns = agentTurns
	}
	if a.Sessions == 0 {
		a.Sessions = agentRate
	}
	if a.Seconds == 0 {
		a.Seconds = defaultSeconds
	}
	g := &agents{AgentLoad: a, Rand: rand.New(rand.NewPCG(a.Seed, 4))}
	for range a.Kinds {
		n := a.Tools
		if n == 0 {
			n = toolsLeast + g.IntN(toolsMost-toolsLeast+1)
		}
		g.tools = append(g.tools, g.blocks(n))
	}
	for at := 0.0; ; {
		at += g.exponential(1 / a.Sessions)
		if at >= a.Seconds {
			break
		}
		tools := g.tools[g.IntN(a.Kinds)]
		task := g.blocks(1 + g.IntN(taskBlocksMost))
		g.session(at, a.Turns, Request{
			Blocks: slices.Concat(tools, task), Head: len(tools), Key: task[0],
		})
	}
	slices.SortStableFunc(g.out, byArrival)
	return Trace{Name: fmt.Sprintf("agents of %d kinds", a.Kinds), Requests: g.out}
}

// session adds the turns of one session from the conversation in r on.
func (g *agents) session(at float64, turns int, r Request) {
	for turn := range turns {
		r.At, r.Input = at, len(r.Blocks)*BlockTokens
		r.Output = int(1 + g.exponential(agentOutput))
		g.out = append(g.out, r)
		at += float64(r.Output)/agentPace + g.exponential(agentThink)
		r.Prev = len(r.Blocks)
		if turns == g.Turns && turn > 0 && g.Float64() < siblingChance {
			g.burst(at, r)
		}
		r.Blocks = slices.Concat(r.Blocks, g.blocks(1+g.IntN(turnBlocksMost)))
	}
}

// burst adds siblings that begin at once with the conversation in r.
func (g *agents) burst(at float64, r Request) {
	for range 2 + g.IntN(siblingMost-1) {
		sibling := r
		sibling.Blocks = slices.Concat(r.Blocks, g.blocks(1))
		g.session(at+0.05*g.Float64(), siblingTurns, sibling)
	}
}

// blocks are n that nobody has used.
func (g *agents) blocks(n int) []int {
	var out []int
	for range n {
		g.fresh++
		out = append(out, g.fresh)
	}
	return out
}

func (g *agents) exponential(mean float64) float64 { return -mean * math.Log(1-g.Float64()) }
