// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"
)

// Names in the published configuration.
const (
	published   = "envoy/envoy.yaml"
	module      = "build/out/kvsteer.wasm"
	filterName  = "kvsteer"
	clusterName = "engines"
)

// Root returns the project's root: the nearest folder at or above the working
// directory that has the published configuration.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, published)); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("envoy: not inside the project: no " + published + " here or above")
		}
		dir = parent
	}
}

// Module returns the path of the built plugin.
func Module(root string) string { return filepath.Join(root, module) }

// Published returns the project's published configuration with addresses and
// paths replaced as Example does, and nothing else: the engines are those given
// (as many as the file names).
func Published(root string, engines []string) (string, error) {
	const first, count = 8001, 4
	if len(engines) != count {
		return "", fmt.Errorf("envoy: %d engines given, the configuration has %d", len(engines), count)
	}
	var edits []string
	for i, address := range engines {
		host, port, ok := strings.Cut(address, ":")
		if !ok || host != "127.0.0.1" {
			return "", fmt.Errorf("envoy: engine address %q is not 127.0.0.1:port", address)
		}
		edits = append(edits, fmt.Sprintf("port_value: %d}", first+i), "port_value: "+port+"}")
	}
	return Example(root, published, edits...)
}

// Example returns a configuration of the project's, a file below its root, with
// the listener's and the admin port replaced by free ones and the path of the
// plugin's module by one that holds in any working directory. edits are further
// pairs for ReplaceAll.
func Example(root, file string, edits ...string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	admin, err := freePort()
	if err != nil {
		return "", err
	}
	config, err := ReplaceAll(string(text), append(edits,
		"port_value: 9901", "port_value: "+admin, // the collector asks there
		"port_value: 10000", "port_value: 0",
		module, Module(root),
	)...)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

// freePort returns a port that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// ReplaceAll replaces pairs of old and new text, all at once, in a
// configuration. An old text that isn't there is an error: the file has changed
// and the change it stands for no longer happens.
func ReplaceAll(config string, pairs ...string) (string, error) {
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(config, pairs[i]); n == 0 {
			return "", fmt.Errorf("envoy: no %q to replace", pairs[i])
		}
	}
	return strings.NewReplacer(pairs...).Replace(config), nil
}

// Bare returns a configuration without the plugin, in which one of Envoy's own
// load balancing policies serves: "round_robin" or "least_request", the latter
// with the settings it has as the published fallback.
func Bare(config, policy string) (string, error) {
	var doc document
	if err := yaml.Unmarshal([]byte(config), &doc); err != nil {
		return "", err
	}
	if err := doc.removeFilter(); err != nil {
		return "", err
	}
	delete(doc, "bootstrap_extensions")
	if err := doc.balance(policy); err != nil {
		return "", err
	}
	out, err := yaml.Marshal(doc)
	return string(out), err
}

type document map[string]any

// at follows keys and list indexes into a value of a document.
func at(value any, path ...any) (any, error) {
	for _, step := range path {
		var next any
		switch step := step.(type) {
		case string:
			m, _ := value.(document)
			next = m[step]
		case int:
			if l, _ := value.([]any); step < len(l) {
				next = l[step]
			}
		}
		if next == nil {
			return nil, fmt.Errorf("envoy: %s has no %v", published, path)
		}
		value = next
	}
	return value, nil
}

func (d document) removeFilter() error {
	manager, err := at(d, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
	if err != nil {
		return err
	}
	filters, err := at(manager, "http_filters")
	if err != nil {
		return err
	}
	var rest []any
	for _, f := range filters.([]any) {
		if name, _ := at(f, "name"); name != filterName {
			rest = append(rest, f)
		}
	}
	manager.(document)["http_filters"] = rest
	return nil
}

func (d document) balance(policy string) error {
	cluster, err := at(d, "static_resources", "clusters", 0)
	if err != nil {
		return err
	}
	if policy == "least_request" {
		fallback, err := at(cluster, "load_balancing_policy", "policies", 0, "typed_extension_config",
			"typed_config", "fallback_policy")
		if err != nil {
			return err
		}
		cluster.(document)["load_balancing_policy"] = fallback
		return nil
	}
	cluster.(document)["load_balancing_policy"] = document{"policies": []any{document{
		"typed_extension_config": document{
			"name": "envoy.load_balancing_policies.round_robin",
			"typed_config": document{
				"@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin",
			},
		},
	}}}
	return nil
}
