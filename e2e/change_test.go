// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// A configuration that is changed while Envoy runs makes another filter in the
// same VM. What has been learnt of the engines' caches stays: the turns after
// the change hit as often as those of conversations without one.
func TestConfigurationChangeKeepsWhatWasLearnt(t *testing.T) {
	const talks, turns = 20, 3
	s := (&site{section: `{}`, even: true}).start(t) // no engine is fast enough for a move to pay

	play := func(first int, change func()) float64 {
		list := make([]*talk, talks)
		for i := range list {
			list[i] = newTalk(first + i)
		}
		var prompt, cached int64
		for turn := range turns {
			if turn == turns-1 {
				change()
				prompt, cached = s.prefilled()
			}
			for _, c := range list {
				c.reply(t, s.steered(chatPath, c.body(t)))
			}
		}
		p, c := s.prefilled()
		return float64(c-cached) / float64(p-prompt)
	}
	without := play(0, func() {})
	with := play(talks, func() {
		loads := s.stat("kvsteer_routing_config_loads_total.result.accepted")
		s.configure(`{"request_algorithms": {"random": "random"}}`)
		s.await("the configuration is in force", func() bool {
			return s.stat("kvsteer_routing_config_loads_total.result.accepted") > loads && s.ask("random").status == 200
		})
	})
	t.Logf("hit ratio of the last turn: %.3f with a change, %.3f without", with, without)
	if without < 0.5 || with < 0.9*without {
		t.Error("what was learnt is lost")
	}
}

// prefilled is the prompt tokens of all engines so far, and how many of them
// came from caches.
func (e *env) prefilled() (prompt, cached int64) {
	for _, one := range e.engines {
		s := one.Stats()
		prompt += int64(s.Prompt)
		cached += int64(s.Cached)
	}
	return prompt, cached
}
