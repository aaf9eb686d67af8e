package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func cpu(t *testing.T, pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return (u + s) / 100
}

func TestZZCPU(t *testing.T) {
	envs := map[int]*env{}
	for _, w := range []int{1, 2} {
		e := start(t, options{workers: w, module: "/tmp/kv_head.wasm"})
		e.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
		envs[w] = e
	}
	turn := 0
	play := func(e *env, n int) (float64, float64) {
		turn++
		before, begun := cpu(t, e.envoy.PID()), time.Now()
		var wg sync.WaitGroup
		for c := range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range n / 16 {
					body := fmt.Sprintf(`{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"%d %d %d %s"}]}`, turn, c, i/4, strings.Repeat("why so? ", 500+500*(i%4)))
					e.post(chatPath, body)
				}
			}()
		}
		wg.Wait()
		d := time.Since(begun).Seconds()
		return (cpu(t, e.envoy.PID()) - before) / float64(n) * 1e6, float64(n) / d
	}
	for round := range 6 {
		for _, w := range []int{1, 2} {
			c, rate := play(envs[w], 4000)
			t.Logf("round %d, %d workers: %.0f µs CPU per request at %.0f/s", round, w, c, rate)
		}
	}
	for _, w := range []int{1, 2} {
		e := envs[w]
		before := cpu(t, e.envoy.PID())
		time.Sleep(5 * time.Second)
		t.Logf("%d workers idle: %.2f %% of a core; sent %d received %d dropped %d gaps %d", w, (cpu(t, e.envoy.PID())-before)/5*100,
			e.stat("kvsteer_shared_placements_sent"), e.stat("kvsteer_shared_placements_received"), e.stat("kvsteer_shared_placements_dropped"), e.stat("kvsteer_shared_gaps"))
	}
}
