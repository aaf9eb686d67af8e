// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/policy/prefix"
)

// TestMetricsAreDocumented: whatever a dashboard finds is explained.
func TestMetricsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range counterCount {
		name := metricName(i)
		for _, prefix := range []string{"bypass_", "no_prompt_", "routing_"} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				name = rest
			}
		}
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/metrics.md doesn't name %s (%s)", metricName(i), name)
		}
	}
}

// TestPromptReasonsHaveRoom: every reason of package prefix has its counter.
func TestPromptReasonsHaveRoom(t *testing.T) {
	if got := prefix.Reason(promptReasons).String(); got != "unknown" {
		t.Errorf("reason %d is %q: there are more than promptReasons", promptReasons, got)
	}
}
