// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The sizes of the office workload. Together the sessions that run at one time
// need about twice one engine's cache.
const (
	officeSeed     = 2026
	officeLength   = 170 * time.Second // sessions start in it
	agentKinds     = 6
	agentSessions  = 22
	bursts         = 3
	burstSiblings  = 5
	chatSessions   = 30
	chatSystems    = 3
	streamingShare = 0.7
)

// office is the demo's own workload: people who chat, and agents at work.
func office() *workload {
	o := officeMaker{random: rand.New(rand.NewPCG(officeSeed, 0))}
	for i := range agentKinds {
		o.kinds = append(o.kinds, o.agentKind(i))
	}
	for i := range chatSystems {
		o.systems = append(o.systems, fmt.Sprintf("You are assistant number %d. ", i)+o.prose(1500))
	}
	w := &workload{
		title: "chats and agents",
		about: []string{
			fmt.Sprintf("%d agents of %d kinds, each kind with 20 to 80 KB of tools and a long system prompt of its own, 10 to 20 turns.", agentSessions, agentKinds),
			fmt.Sprintf("%d bursts of %d sibling agents that start at the same moment from the same long context.", bursts, burstSiblings),
			fmt.Sprintf("%d chats of 3 to 8 turns under %d system prompts.", chatSessions, chatSystems),
		},
		engine: engineSize{cacheTokens: 140_000, blockTokens: 16, prefillRate: 8_000, decodeRate: 40},
		scale:  10,
	}
	for range agentSessions {
		w.sessions = append(w.sessions, o.agent(o.anyKind(), o.moment(officeLength), ""))
	}
	for range bursts {
		kind, start, context := o.anyKind(), o.moment(officeLength), o.prose(o.between(8_000, 24_000))
		for range burstSiblings {
			w.sessions = append(w.sessions, o.agent(kind, start, context))
		}
	}
	for range chatSessions {
		w.sessions = append(w.sessions, o.chat())
	}
	return w
}

// An agentKind is what all agents of a kind share.
type agentKind struct{ system, tools string }

type officeMaker struct {
	random  *rand.Rand
	kinds   []agentKind
	systems []string
}

func (o *officeMaker) agentKind(n int) agentKind {
	size := 20_000 + n*60_000/(agentKinds-1)
	var tools strings.Builder
	tools.WriteString("[")
	for i := 0; tools.Len() < size; i++ {
		if i > 0 {
			tools.WriteString(",")
		}
		fmt.Fprintf(&tools, `{"type":"function","function":{"name":"%s_%d","description":"%s","parameters":`+
			`{"type":"object","properties":{"target":{"type":"string","description":"%s"}},"required":["target"]}}}`,
			o.word(), i, o.prose(o.between(300, 1200)), o.prose(100))
	}
	tools.WriteString("]")
	return agentKind{
		system: fmt.Sprintf("You are agent number %d. ", n) + o.prose(o.between(6_000, 12_000)),
		tools:  tools.String(),
	}
}

// agent makes an agent's session: a task, then results of tools. Siblings have
// their context in common.
func (o *officeMaker) agent(kind agentKind, start time.Duration, context string) session {
	s := chatSession(kind.system, kind.tools, o.random.Float64() < streamingShare)
	s.start = start
	s.turns = append(s.turns, turn{text: message("user", context+o.prose(o.between(300, 3_000))), maxTokens: o.between(40, 160)})
	for range o.between(9, 19) {
		s.turns = append(s.turns, turn{
			think:     o.moment(3*time.Second) + time.Second/2,
			text:      message("tool", o.prose(o.between(800, 6_000))),
			maxTokens: o.between(40, 160),
		})
	}
	return s
}

func (o *officeMaker) chat() session {
	s := chatSession(o.systems[o.random.IntN(len(o.systems))], "", o.random.Float64() < streamingShare)
	s.start = o.moment(officeLength)
	for range o.between(3, 8) {
		s.turns = append(s.turns, turn{
			think:     o.moment(12*time.Second) + 3*time.Second,
			text:      message("user", o.prose(o.between(80, 1_200))),
			maxTokens: o.between(60, 240),
		})
	}
	s.turns[0].think = 0
	return s
}

func (o *officeMaker) anyKind() agentKind { return o.kinds[o.random.IntN(len(o.kinds))] }

func (o *officeMaker) moment(within time.Duration) time.Duration {
	return time.Duration(o.random.Int64N(int64(within)))
}

func (o *officeMaker) between(low, high int) int { return low + o.random.IntN(high-low+1) }

// prose returns n bytes of words.
func (o *officeMaker) prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(o.word())
		b.WriteString(" ")
	}
	return b.String()[:n]
}

// word returns two or three syllables: some 8,000 words, so that no two texts
// are alike by chance.
func (o *officeMaker) word() string { return word(o.random) }

var syllables = strings.Fields("ba de ki lo mu na pe ri so tu va we xi yo za che dri fla gru sto")

func word(random *rand.Rand) string {
	var b strings.Builder
	for range 2 + random.IntN(2) {
		b.WriteString(syllables[random.IntN(len(syllables))])
	}
	return b.String()
}
