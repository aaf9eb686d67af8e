// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What docs/metrics.md tells operators to watch is there, under this name.
func TestWatchedMetricsExist(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "metrics.md"), "\n## What to watch\n")
	section, _, _ = strings.Cut(section, "\n## ")
	names := regexp.MustCompile("`(?:kvsteer_|wasm\\.)[a-z_.]+`").FindAllString(section, -1)
	if len(names) < 20 {
		t.Fatalf("the section has %d names, want more", len(names))
	}
	e := start(t, options{})
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Errorf("Envoy has no %v", missing)
		}
	}()
	e.await("all are there", func() bool {
		missing = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return e.has(strings.Trim(name, "`")) })
		return len(missing) == 0
	})
}

// has reports whether Envoy has a stat, or one of this name for each engine.
func (e *env) has(name string) bool {
	e.t.Helper()
	stats, err := e.envoy.Admin.Stats(e.t.Context(), "^(wasmcustom\\.)?"+regexp.QuoteMeta(name)+"(\\.engines\\..*)?$")
	if err != nil {
		e.t.Fatal(err)
	}
	return len(stats) == 1 || len(stats) == len(e.engines)
}

// page returns a page of the documentation.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(projectRoot(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The documented stats_tags turn what Envoy has in names into labels.
func TestDocumentedTagsBecomeLabels(t *testing.T) {
	tags := regexp.MustCompile(`(?m)^  - \{tag_name: .*\}$`)
	var lines []string
	for _, name := range []string{"metrics.md", "routing-operators.md"} {
		lines = append(lines, tags.FindAllString(page(t, name), -1)...)
	}
	e := start(t, options{
		settings: `"routing": {}, `, workers: 1,
		edits: []string{"stats_config:", "stats_config:\n  stats_tags:\n" + strings.Join(lines, "\n")},
	})
	e.steered(chatPath, newTalk(1).body(t))
	e.post("/v1/unknown", "{}")
	series := []string{`kvsteer_bypass{reason="path"} 1`, `kvsteer_no_prompt{reason="not_json"} 0`,
		`kvsteer_routing_requests_total{method="prefix-aware",outcome="selected"} 1`}
	for _, one := range e.engines {
		label := strings.ReplaceAll(one.Address(), ":", "_")
		series = append(series, fmt.Sprintf(`kvsteer_endpoint_healthy{pool="engines",endpoint=%q} 1`, label))
	}
	for _, want := range series {
		e.await(want, func() bool {
			text, err := e.envoy.Admin.Get(t.Context(), "/stats/prometheus")
			if err != nil {
				t.Fatal(err)
			}
			return strings.Contains(string(text), "\n"+want+"\n")
		})
	}
}
