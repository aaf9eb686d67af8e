// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// A site is an Envoy with a routing section in front of six engines, sorted by
// address, the n-th of which has a prefill rate of n thousand tokens/s.
type site struct {
	*env
	extension string // the file that Envoy reads the filter's configuration from
	section   string
	even      bool // all engines have a rate of a thousand tokens/s instead
}

// startSite brings a site up.
func startSite(t *testing.T, section string) *site {
	t.Helper()
	return (&site{section: section}).start(t)
}

// start brings it up with one worker.
func (s *site) start(t *testing.T) *site {
	t.Helper()
	skipWithoutEnvoy(t)
	root := projectRoot(t)
	s.env, s.extension = &env{t: t}, filepath.Join(t.TempDir(), "kvsteer.yaml")
	s.startEngines(6)
	slices.SortFunc(s.engines, func(a, b *engine.Engine) int { return strings.Compare(a.Address(), b.Address()) })
	s.idle()
	s.launch(root, s.split(root), 1)
	return s
}

// split takes the filter's configuration out of the published one, into a file
// of its own, so that it can be changed while Envoy runs, and returns the rest.
func (s *site) split(root string) string {
	s.t.Helper()
	doc := s.published(root)
	delete(doc, "bootstrap_extensions") // a collector by the settings of the test, in the worker
	doc["node"] = map[string]any{"id": "e2e", "cluster": "e2e"}
	filter := follow(doc, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config", "http_filters", 0).(map[string]any)
	follow(filter, "typed_config", "config", "configuration").(map[string]any)["value"] = "SETTINGS"
	template := s.yaml(map[string]any{"resources": []any{map[string]any{
		"@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig", "name": "kvsteer", "typed_config": filter["typed_config"],
	}}})
	if err := os.WriteFile(s.extension+".template", template, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.configure(s.section)
	delete(filter, "typed_config")
	filter["name"] = "kvsteer"
	filter["config_discovery"] = map[string]any{
		"config_source": map[string]any{
			"path_config_source":   map[string]any{"path": s.extension},
			"resource_api_version": "V3",
		},
		"type_urls": []any{"type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"},
	}
	return string(s.yaml(doc))
}

// published is the published configuration in front of the site's engines, of
// which it has four and gets two more lines.
func (s *site) published(root string) map[string]any {
	s.t.Helper()
	var four []string
	for _, one := range s.engines[:4] {
		four = append(four, one.Address())
	}
	text, err := envoy.Published(root, four)
	if err != nil {
		s.t.Fatal(err)
	}
	last := lineWith(text, "port_value: "+port(four[3])+"}")
	more := strings.ReplaceAll(last, port(four[3]), port(s.engines[4].Address())) + "\n" +
		strings.ReplaceAll(last, port(four[3]), port(s.engines[5].Address()))
	text = strings.Replace(text, last, last+"\n"+more, 1)
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		s.t.Fatal(err)
	}
	return doc
}

func (s *site) yaml(v any) []byte {
	s.t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// configure puts a routing section in force, as a control plane would.
func (s *site) configure(section string) {
	s.t.Helper()
	var endpoints []string
	for i, one := range s.engines {
		rate := 1000 * (i + 1)
		if s.even {
			rate = 1000
		}
		endpoints = append(endpoints, fmt.Sprintf(`{"address": %q, "prefill_tokens_per_second": %d}`, one.Address(), rate))
	}
	settings := fmt.Sprintf(`{"decision_header": true, "pools": [{"cluster": "engines", "endpoints": [%s]}],
		"collector": {"period_milliseconds": 200, "idle_period_milliseconds": 200,
			"metrics": {"names": [{"field": "max_running", "name": "test_slots"}]}},
		"routing": %s}`, strings.Join(endpoints, ", "), section)
	template, err := os.ReadFile(s.extension + ".template")
	if err != nil {
		s.t.Fatal(err)
	}
	text := strings.Replace(string(template), "SETTINGS", "'"+strings.Join(strings.Fields(settings), " ")+"'", 1)
	if err := os.WriteFile(s.extension+".new", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.extension+".new", s.extension); err != nil { // Envoy watches for it
		s.t.Fatal(err)
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	return ""
}

func follow(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(map[string]any)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// show is what an engine's metrics page says.
type show struct {
	waiting, running, slots int
	kvUse                   float64
}

// script makes the n-th engine (from 1) show this of itself.
func (s *site) script(n int, w show) {
	s.engines[n-1].SetScript(engine.Script{Metrics: fmt.Sprintf("vllm:num_requests_waiting %d\nvllm:num_requests_running %d\n"+
		"test_slots %d\nvllm:kv_cache_usage_perc %g\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"625\"} 1\n",
		w.waiting, w.running, w.slots, w.kvUse)})
}

// fill makes all engines show that they are full, and waits until that is known:
// longer than a scrape takes, for what the one before showed may still come. They
// show two requests above their slots, for one counts as ours where the page was
// read while a request of ours ran.
func (s *site) fill() {
	s.t.Helper()
	for n := range s.engines {
		s.script(n+1, show{running: 4, slots: 2})
	}
	row := 0
	s.await("all engines are known to be full", func() bool {
		row++
		if s.ask("wait-and-widen").status != http.StatusServiceUnavailable {
			row = 0
		}
		return row == 50
	})
	s.received()
}

// idle makes all engines show that nothing goes on.
func (s *site) idle() {
	for n := range s.engines {
		s.script(n+1, show{})
	}
}

// ask sends a short chat with an expression and further headers, and returns the
// answer.
func (s *site) ask(expression string, headers ...string) *answer {
	s.t.Helper()
	return s.send(s.asking(expression, headers...))
}

func (s *site) asking(expression string, headers ...string) *http.Request {
	s.t.Helper()
	req := s.request(http.MethodPost, chatPath, strings.NewReader(newTalk(1).body(s.t)))
	if expression != "" {
		req.Header.Set("x-routing-method", expression)
	}
	req.Header.Set("x-model", "sim")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// to is where a request with this expression goes: the number of the engine, 0
// if none answers.
func (s *site) to(expression string, headers ...string) int {
	s.t.Helper()
	a := s.ask(expression, headers...)
	if a.status == http.StatusOK && a.engine != a.decision.endpoint {
		s.t.Errorf("%s: %s answered, the decision was %+v", expression, a.engine, a.decision)
	}
	return 1 + slices.IndexFunc(s.engines, func(e *engine.Engine) bool { return e.Address() == a.engine })
}

// goesTo polls until request after request goes to the n-th engine: that takes
// as long as the next scrape.
func (s *site) goesTo(n int, expression string, headers ...string) {
	s.t.Helper()
	row, last := 0, 0
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%s went to engine %d last", expression, last)
		}
	}()
	s.await(fmt.Sprintf("%s goes to engine %d", expression, n), func() bool {
		last = s.to(expression, headers...)
		row++
		if last != n {
			row = 0
		}
		return row == 12
	})
}
