// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// A fleet is an env whose engines come and go: Envoy reads them from a file
// (EDS), checks their health and ejects those that fail.
type fleet struct {
	*env
	eds    string // path of the file
	ejects bool   // Envoy ejects at the first error, instead of checking health
	number int    // makes prompts different
	extra  string // address of a host that is no engine
}

// homes are where a collector may work.
var homes = []string{"bootstrap", "worker"}

// startFleet brings up an Envoy with the published configuration but for where
// the cluster's hosts come from and, for the home "worker", without the
// bootstrap extension. module is the built one if empty.
func startFleet(t *testing.T, home, module string) *fleet {
	t.Helper()
	return (&fleet{}).start(t, home, module)
}

func (f *fleet) start(t *testing.T, home, module string) *fleet {
	t.Helper()
	skipWithoutEnvoy(t)
	f.env = &env{t: t}
	f.eds = filepath.Join(t.TempDir(), "eds.json")
	f.startEngines(4)
	f.list(f.engines[:3], nil)
	root := projectRoot(t)
	f.launch(root, f.rewrite(home, f.configuration(root, options{module: module})), 0)
	return f
}

// object is a piece of a configuration.
type object = map[string]any

// rewrite changes the published configuration as startFleet says.
func (f *fleet) rewrite(home, config string) string {
	f.t.Helper()
	var doc object
	if err := yaml.Unmarshal([]byte(config), &doc); err != nil {
		f.t.Fatal(err)
	}
	if home == "worker" {
		delete(doc, "bootstrap_extensions")
	}
	doc["node"] = object{"id": "test", "cluster": "test"}
	for _, c := range doc["static_resources"].(object)["clusters"].([]any) {
		if c := c.(object); c["name"] == "engines" {
			delete(c, "load_assignment")
			c["type"] = "EDS"
			c["eds_cluster_config"] = object{"eds_config": object{
				"resource_api_version": "V3", "path_config_source": object{"path": f.eds}}}
			c["health_checks"] = []any{object{
				"timeout": "1s", "interval": "0.2s", "unhealthy_threshold": 2, "healthy_threshold": 1,
				"no_traffic_interval": "0.2s", "http_health_check": object{"path": "/health"}}}
			if f.ejects {
				delete(c, "health_checks")
				c["outlier_detection"] = object{
					"consecutive_5xx": 1, "interval": "0.1s", "base_ejection_time": "60s", "max_ejection_percent": 100}
			}
		}
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(out)
}

// list makes these the cluster's hosts; health is by address, "HEALTHY" where
// it names none.
func (f *fleet) list(engines []*engine.Engine, health map[string]string) {
	f.t.Helper()
	var addresses []string
	for _, one := range engines {
		addresses = append(addresses, one.Address())
	}
	if f.extra != "" {
		addresses = append(addresses, f.extra)
	}
	var hosts []any
	for _, address := range addresses {
		ip, port, err := net.SplitHostPort(address)
		if err != nil {
			f.t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			f.t.Fatal(err)
		}
		host := object{"endpoint": object{"address": object{"socket_address": object{"address": ip, "port_value": number}}}}
		if h := health[address]; h != "" {
			host["health_status"] = h
		}
		hosts = append(hosts, host)
	}
	text, err := json.Marshal(object{"resources": []any{object{
		"@type":        "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
		"cluster_name": "engines", "endpoints": []any{object{"lb_endpoints": hosts}}}}})
	if err != nil {
		f.t.Fatal(err)
	}
	// Envoy looks for files that are moved into place.
	if err := os.WriteFile(f.eds+".next", text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(f.eds+".next", f.eds); err != nil {
		f.t.Fatal(err)
	}
}

// cold sends a prompt that nobody has seen and returns the engine named for it.
func (f *fleet) cold() string {
	f.t.Helper()
	f.number++
	return f.named(newTalk(f.number).body(f.t))
}

// named sends a prompt and returns the engine named for it, "" where no answer
// comes for a second: an engine that is kept busy holds whatever reaches it.
func (f *fleet) named(body string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
	defer cancel()
	resp, err := f.client.Do(f.request(http.MethodPost, chatPath, strings.NewReader(body)).WithContext(ctx))
	if err != nil && ctx.Err() != nil {
		return ""
	}
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return ""
	}
	return readDecision(resp.Header.Get("x-kvsteer-decision")).endpoint
}

// await polls as env.await does, and logs how long it took.
func (f *fleet) await(what string, holds func() bool) {
	f.t.Helper()
	began := time.Now()
	f.env.await(what, holds)
	f.t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
}

// gets waits until cold prompts are sent to the engine.
func (f *fleet) gets(one *engine.Engine) {
	f.t.Helper()
	f.await(one.Address()+" gets requests", func() bool { return f.cold() == one.Address() })
}

// loses waits until none of ten cold prompts is sent to the engine.
func (f *fleet) loses(one *engine.Engine) {
	f.t.Helper()
	f.await(one.Address()+" gets no requests", func() bool {
		for range 10 {
			if to := f.cold(); to == one.Address() || to == "" {
				return false
			}
		}
		return true
	})
}

// knows waits until the collector has so many endpoints, and so many healthy.
func (f *fleet) knows(endpoints, healthy int64) {
	f.t.Helper()
	f.await(fmt.Sprintf("%d endpoints, %d of them healthy", endpoints, healthy), func() bool {
		return f.stat("kvsteer_endpoints") == endpoints && f.stat("kvsteer_endpoints_healthy") == healthy
	})
}
