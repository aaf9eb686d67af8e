// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
	"github.com/kvsteer/kvsteer/e2e/envoy"
)

func TestCollectorFollowsTheCluster(t *testing.T) {
	for _, home := range homes {
		t.Run(home, func(t *testing.T) {
			f := startFleet(t, home, "")
			for range 4 { // a worker collects once it has served
				f.cold()
			}
			f.knows(3, 3)
			four := f.engines[3]

			f.list(f.engines, nil)
			f.gets(four)
			f.knows(4, 4)

			f.list(f.engines, map[string]string{four.Address(): "DRAINING"})
			f.loses(four)
			f.knows(4, 3)

			f.list(f.engines, map[string]string{four.Address(): "UNHEALTHY"})
			f.knows(4, 3)
			f.list(f.engines, nil)
			f.gets(four)

			f.fault(four.Address(), engine.Fault{Kind: engine.Refuse})
			f.loses(four)
			f.knows(4, 3)
			f.fault(four.Address(), engine.Fault{})
			f.gets(four)
			f.knows(4, 4)

			f.list(f.engines[:3], nil)
			f.loses(four)
			f.knows(4, 3) // Envoy keeps it until its health check fails
			f.fault(four.Address(), engine.Fault{Kind: engine.Refuse})
			f.knows(3, 3)
			f.quiet()
		})
	}
}

// quiet checks that nothing went wrong that nobody did on purpose.
func (f *fleet) quiet() {
	f.t.Helper()
	for _, name := range []string{"kvsteer_panics", "kvsteer_snapshots_refused", "kvsteer_pools_without_collector"} {
		if n := f.stat(name); n != 0 {
			f.t.Errorf("%s = %d, want 0", name, n)
		}
	}
}

func TestEjectedEngineGetsNothing(t *testing.T) {
	for _, home := range homes {
		t.Run(home, func(t *testing.T) {
			f := (&fleet{ejects: true}).start(t, home, "")
			f.cold()
			f.knows(3, 3)
			bad := f.engines[0]
			f.fault(bad.Address(), engine.Fault{Kind: engine.Status, Status: http.StatusInternalServerError})
			f.await("an ejection", func() bool {
				f.cold()
				return f.stat("cluster.engines.outlier_detection.ejections_active") == 1
			})
			f.loses(bad)
			f.knows(3, 2)
			f.fault(bad.Address(), engine.Fault{})
			f.loses(bad)
		})
	}
}

// A long queue that only the engine's metrics show keeps cold prompts away, and
// warm ones too where it is longer than the limit.
func TestBusyEngineIsAvoided(t *testing.T) {
	for _, home := range homes {
		t.Run(home, func(t *testing.T) {
			f := startFleet(t, home, "")
			f.cold()
			f.knows(3, 3)
			talk := newTalk(0)
			first := f.post(chatPath, talk.body(t))
			talk.reply(t, first)
			busy := f.engine(first.decision.endpoint)
			stop := f.occupy(busy, 80)
			f.await("the queue shows", func() bool { return f.stat(gauge("waiting", busy)) > 70 })
			f.loses(busy)
			f.await("a warm conversation moves", func() bool {
				to := f.named(talk.body(t))
				return to != "" && to != busy.Address()
			})
			stop()
			f.gets(busy)
		})
	}
}

func gauge(name string, one *engine.Engine) string {
	return "kvsteer_endpoint_" + name + ".engines." + strings.ReplaceAll(one.Address(), ":", "_")
}

// occupy sends requests to an engine past Envoy that take long, until stop.
func (f *fleet) occupy(one *engine.Engine, n int) (stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	f.fault(one.Address(), engine.Fault{Kind: engine.Slow, Factor: 1e9})
	for i := range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+one.Address()+chatPath, strings.NewReader(newTalk(-1-i).body(f.t)))
		if err != nil {
			f.t.Fatal(err)
		}
		running.Go(func() {
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		f.fault(one.Address(), engine.Fault{})
	})
	f.t.Cleanup(stop)
	return stop
}

// A host whose metrics page tells the collector what to do, in a module that is
// built for it.
type commander struct {
	*httptest.Server
	waiting atomic.Int64
}

func newCommander(t *testing.T) *commander {
	c := &commander{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "vllm:num_requests_waiting %d\nvllm:num_requests_running 0\n", c.waiting.Load())
	}))
	t.Cleanup(c.Close)
	return c
}

// Commands, as plugin/trap_on.go has them.
const (
	trapCommand   = 1_000_000
	freezeCommand = 2_000_000
)

func TestCollectorDies(t *testing.T) {
	module := buildTrap(t)
	for _, home := range homes {
		t.Run(home, func(t *testing.T) {
			f := startFleet(t, home, module)
			command := newCommander(t)
			for range 8 {
				f.cold()
			}
			f.knows(3, 3)
			f.commanded(command, f.engines[:3])
			f.knows(4, 4)
			leases := f.stat("kvsteer_collector_leases")

			command.waiting.Store(trapCommand)
			f.await("another collector", func() bool {
				f.cold()
				return f.stat("kvsteer_collector_leases") > leases
			})
			command.waiting.Store(0)
			f.commanded(command, f.engines)
			f.gets(f.engines[3])
			f.knows(5, 5)

			command.waiting.Store(freezeCommand)
			f.await("the workers notice", func() bool {
				return f.cold() != "" && f.stat("kvsteer_pools_without_collector") >= 2
			})
			if a := f.post(chatPath, newTalk(-1).body(t)); a.status != http.StatusOK || !a.decision.steered {
				t.Errorf("status %d, steered %v with a frozen collector", a.status, a.decision.steered)
			}
		})
	}
}

// commanded lists the engines and the commander.
func (f *fleet) commanded(c *commander, engines []*engine.Engine) {
	f.t.Helper()
	f.extra = c.Listener.Addr().String()
	f.list(engines, nil)
}

// buildTrap builds the module with the commands.
func buildTrap(t *testing.T) string {
	t.Helper()
	root, err := envoy.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "commanded.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-tags=trap", "-ldflags=-s -w", "-o", path, "./plugin")
	build.Dir, build.Env = root, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
