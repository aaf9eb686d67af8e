// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/expr"
)

type cacheSequence struct {
	ID       string `json:"id"`
	Capacity int    `json:"capacity"`
	Steps    []struct {
		T          float64     `json:"t"`
		Target     string      `json:"target"`
		Header     string      `json:"header"`
		Candidates int         `json:"candidates"`
		Want       string      `json:"want"`
		Evicted    [][3]string `json:"evicted"`
	} `json:"steps"`
	Entries     int `json:"entries"`
	Definitions int `json:"definitions"`
}

// observed is a router that records what leaves its cache.
type observed struct {
	router  *expr.Router[int, *int]
	evicted [][3]string
}

func newObserved(t *testing.T, capacity int) *observed {
	t.Helper()
	o := new(observed)
	o.router = expr.NewRouter(parsed(t, everything), expr.Maker[int, *int]{
		Compile: func(*expr.Settings) int { return 0 },
		Start:   func(int) *int { return new(int) },
		Budget:  expr.NewBudget[int, *int](capacity),
		Evicted: func(e expr.Eviction) {
			model := strings.TrimLeft(e.Target, "\x00\x01\x02\x03\x04\x05\x06\x07\x08")
			o.evicted = append(o.evicted, [3]string{model, e.Form, e.Cause.String()})
		},
	})
	return o
}

// step sends one request and returns the result as the vectors name it.
func (o *observed) step(target, header string, candidates int, now time.Duration) string {
	o.evicted = nil
	c, r := o.router.Resolve(expr.Query{Model: target, Value: header, Lines: 1}, now)
	if r != nil {
		return "rejected"
	}
	o.router.Settle(&c, candidates, now)
	if c.Result == expr.Temporary {
		return "bypass" // which means something else in this project
	}
	return c.Result.String()
}

func seconds(t float64) time.Duration { return time.Duration(t * float64(time.Second)) }

func TestCacheVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.CacheSequences {
			t.Run(c.ID, func(t *testing.T) {
				o := newObserved(t, c.Capacity)
				for i, s := range c.Steps {
					if got := o.step(s.Target, s.Header, s.Candidates, seconds(s.T)); got != s.Want {
						t.Errorf("step %d: %s, want %s", i, got, s.Want)
					}
					if len(o.evicted)+len(s.Evicted) > 0 && !reflect.DeepEqual(o.evicted, s.Evicted) {
						t.Errorf("step %d: evicted %v, want %v", i, o.evicted, s.Evicted)
					}
				}
				if entries, definitions := o.router.Len(); entries != c.Entries || definitions != c.Definitions {
					t.Errorf("%d entries of %d definitions, want %d of %d", entries, definitions, c.Entries, c.Definitions)
				}
			})
		}
	})
}

type cacheGenerated struct {
	ID                string `json:"id"`
	Capacity          int    `json:"capacity"`
	Generate          string `json:"generate"`
	Entries           int    `json:"entries"`
	Definitions       int    `json:"definitions"`
	Misses            int    `json:"misses"`
	Hits              int    `json:"hits"`
	CapacityEvictions int    `json:"capacity_evictions"`
	ReplacedEvictions int    `json:"replaced_evictions"`
}

// generated holds, by ID, what Generate says in words: how many steps, and the
// i-th target and header.
var generated = map[string]struct {
	steps int
	step  func(i int) (target, header string)
}{
	"K100": {1536, func(i int) (string, string) { return "t" + strconv.Itoa(i), "pulsar;seed=a" }},
	"K101": {10000, func(i int) (string, string) { return "t0", "pulsar;seed=s" + strconv.Itoa(i) }},
}

func TestCacheGeneratedVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.CacheGenerated {
			t.Run(c.ID, func(t *testing.T) {
				g, known := generated[c.ID]
				if !known {
					t.Fatalf("no generator for %q", c.Generate)
				}
				o := newObserved(t, c.Capacity)
				got := map[string]int{}
				for i := range g.steps {
					target, header := g.step(i)
					got[o.step(target, header, 1, time.Duration(i)*10*time.Millisecond)]++
					for _, e := range o.evicted {
						got[e[2]]++
					}
				}
				got["entries"], got["definitions"] = o.router.Len()
				want := map[string]int{"entries": c.Entries, "definitions": c.Definitions}
				for name, n := range map[string]int{
					"miss": c.Misses, "hit": c.Hits, "capacity": c.CapacityEvictions, "replaced": c.ReplacedEvictions,
				} {
					if n > 0 {
						want[name] = n
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	})
}

type headerCase struct {
	ID      string      `json:"id"`
	Config  string      `json:"config"`
	Headers [][2]string `json:"headers"`
	Expect  struct {
		rejection
		Model       string          `json:"model"`
		RoutingKey  string          `json:"routing_key"`
		AffinityKey string          `json:"cache_affinity_key"`
		InputTokens json.RawMessage `json:"input_tokens"`
		Priority    uint32          `json:"priority"`
		SLO         json.RawMessage `json:"request_slo_ms"`
		MaxWait     json.RawMessage `json:"max_wait_ms"`
	} `json:"expect"`
}

func TestHeaderVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		for _, c := range v.RequestHeaderCases {
			t.Run(c.ID, func(t *testing.T) {
				got, r := c.judge(v.config(t, c.Config))
				c.Expect.matches(t, r)
				if r != nil {
					return
				}
				want := expr.Request{
					Model: c.Expect.Model, RoutingKey: c.Expect.RoutingKey, AffinityKey: c.Expect.AffinityKey,
					Priority: c.Expect.Priority,
				}
				want.InputTokens, want.HasInputTokens = optional(t, c.Expect.InputTokens)
				want.SLO, _ = optional(t, c.Expect.SLO)
				ms, _ := optional(t, c.Expect.MaxWait)
				want.MaxWait = time.Duration(ms) * time.Millisecond
				if *got != want {
					t.Errorf("got %+v, want %+v", *got, want)
				}
			})
		}
	})
}

// judge goes the way of a request up to its definition's demands.
func (c *headerCase) judge(config *expr.Config) (*expr.Request, *expr.Rejection) {
	var h expr.Headers
	for _, pair := range c.Headers {
		h.Add(pair[0], latin1(pair[1]))
	}
	request, r := h.Parse(true)
	if r != nil {
		return nil, r
	}
	var method []string
	if value, n := h.Method(); n > 0 {
		method = []string{value}
	}
	got, r := config.Resolve(request.Model, method...)
	if r != nil {
		return nil, r
	}
	var have expr.Demand
	if request.AffinityKey != "" {
		have |= expr.AffinityKey
	}
	if request.HasInputTokens {
		have |= expr.InputTokens
	}
	return request, got.Settings.Demands().Missing(have)
}

// optional reads a number, a quoted number or null.
func optional(t *testing.T, in json.RawMessage) (v uint64, set bool) {
	t.Helper()
	if len(in) == 0 || string(in) == "null" {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.Trim(string(in), `"`), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v, true
}
