// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	func_e "github.com/tetratelabs/func-e"
	"github.com/tetratelabs/func-e/api"
)

// binary finds the Envoy to test with.
func binary(t *testing.T) *Binary {
	t.Helper()
	if os.Getenv("KVSTEER_SKIP_ENVOY") == "1" {
		t.Skip("KVSTEER_SKIP_ENVOY=1")
	}
	b, err := Find(t.Context(), filepath.Join(root(t), "build/out"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bare returns the configuration without the plugin, in front of four servers
// that answer with their number.
func bare(t *testing.T, policy string) string {
	t.Helper()
	var engines []string
	for i := range 4 {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, i)
		}))
		t.Cleanup(server.Close)
		engines = append(engines, server.Listener.Addr().String())
	}
	config, err := Published(root(t), engines)
	if err != nil {
		t.Fatal(err)
	}
	config, err = Bare(config, policy)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestBareConfigurationsServe(t *testing.T) {
	b := binary(t)
	for _, policy := range []string{"round_robin", "least_request"} {
		t.Run(policy, func(t *testing.T) {
			i, err := Start(t.Context(), b, bare(t, policy), Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer i.Stop()
			seen := map[string]int{}
			for range 40 {
				resp, err := http.Get("http://" + i.Address)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				seen[string(body)]++
			}
			if policy == "round_robin" && (len(seen) != 4 || seen["0"] != 10) {
				t.Errorf("answers by engine: %v, want 10 of each", seen)
			}
			stats, err := i.Admin.Stats(t.Context(), "cluster.engines.upstream_rq_200")
			if err != nil {
				t.Fatal(err)
			}
			if got := stats["cluster.engines.upstream_rq_200"]; got != 40 {
				t.Errorf("upstream_rq_200 = %d, want 40", got)
			}
		})
	}
}

func TestStopLeavesNothing(t *testing.T) {
	i, err := Start(t.Context(), binary(t), bare(t, "round_robin"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	i.Stop()
	if _, err := i.Admin.Get(t.Context(), "/ready"); err == nil {
		t.Error("the admin port still answers")
	}
	if _, err := os.Stat(i.dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", i.dir, err)
	}
}

func TestStartTellsWhatEnvoySaid(t *testing.T) {
	i, err := Start(t.Context(), binary(t), "static_resources: {lesteners: []}", Options{})
	if err == nil {
		i.Stop()
		t.Fatal("Envoy started with a misspelt field")
	}
	if !strings.Contains(err.Error(), "lesteners") {
		t.Errorf("error %v doesn't name the field", err)
	}
}

// func-e's library runs the binary that was found with the same file.
func TestFuncERunsTheBinary(t *testing.T) {
	b := binary(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "envoy.yaml")
	if err := os.WriteFile(file, []byte(bare(t, "round_robin")), 0o600); err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(dir, "admin")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- func_e.Run(ctx,
			[]string{"-c", file, "--admin-address-path", address, "--disable-hot-restart", "--log-level", "warning"},
			api.EnvoyPath(b.Path), api.HomeDir(filepath.Join(dir, "func-e")), api.Out(io.Discard),
			api.EnvoyOut(io.Discard), api.EnvoyErr(io.Discard))
	}()
	i := &Instance{dir: dir, exited: make(chan struct{})}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := i.await(wait); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://" + i.Address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %d", resp.StatusCode)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("func-e ended with %v", err)
	}
}

func TestPublishedConfigurationChangesAddressesOnly(t *testing.T) {
	engines := []string{"127.0.0.1:8002", "127.0.0.1:8001", "127.0.0.1:20003", "127.0.0.1:20004"}
	got, err := Published(root(t), engines)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root(t), published))
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.Split(string(text), "\n"), strings.Split(got, "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines became %d", len(before), len(after))
	}
	var changed []string
	for i := range before {
		if before[i] != after[i] {
			changed = append(changed, strings.TrimSpace(after[i]))
		}
	}
	all := strings.Join(changed, "\n")
	if len(changed) != 9 {
		t.Errorf("%d lines changed, want admin, listener and module, admin and module of the collector, four ports:\n%s", len(changed), all)
	}
	for _, want := range []string{
		"port_value: 8002}", "port_value: 8001}", "port_value: 20003}", "port_value: 20004}", "filename: " + Module(root(t)),
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the changed lines\n%s", want, all)
		}
	}
}

func TestReplaceAllRefusesWhatIsNotThere(t *testing.T) {
	if got, err := ReplaceAll("a: 1", "b: 1", "b: 2"); err == nil {
		t.Errorf("ReplaceAll = %q, want an error", got)
	}
}

func TestBareNeedsTheExpectedShape(t *testing.T) {
	if got, err := Bare("static_resources: {}", "round_robin"); err == nil {
		t.Errorf("Bare = %q, want an error", got)
	}
}
