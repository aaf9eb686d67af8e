// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// vectorEndpoint is an endpoint as the vectors write it.
type vectorEndpoint struct {
	ID          string            `json:"id"`
	RTT         float64           `json:"rtt_ms"`
	TPS         float64           `json:"tps"`
	Queued      uint64            `json:"queued_input_tokens"`
	QueueSize   uint64            `json:"queue_size"`
	Running     uint64            `json:"running"`
	Concurrency uint64            `json:"max_concurrency"`
	QueueTimes  map[string]uint64 `json:"queue_ms_by_priority"`
	KVCapacity  uint64            `json:"kv_capacity"`
	KVUsed      uint64            `json:"kv_used"`
	KVFree      uint64            `json:"kv_free"`
}

func (v *vectorEndpoint) endpoint(t *testing.T) Endpoint {
	t.Helper()
	e := Endpoint{
		ID: v.ID, RTT: v.RTT, TPS: v.TPS, QueuedInputTokens: v.Queued, QueueSize: v.QueueSize,
		Running: v.Running, MaxConcurrency: v.Concurrency,
		KVCapacity: v.KVCapacity, KVUsed: v.KVUsed, KVFree: v.KVFree,
	}
	for name, wait := range v.QueueTimes {
		priority, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		e.QueueTimes = append(e.QueueTimes, load.QueueTime{Priority: uint32(priority), Wait: wait})
	}
	slices.SortFunc(e.QueueTimes, func(a, b load.QueueTime) int { return int(a.Priority) - int(b.Priority) })
	return e
}

// endpoints makes a snapshot in which the named ones have failed already.
func endpoints(t *testing.T, in []vectorEndpoint, excluded []string) []Endpoint {
	t.Helper()
	out := make([]Endpoint, len(in))
	for i := range in {
		out[i] = in[i].endpoint(t)
		out[i].Excluded = slices.Contains(excluded, in[i].ID)
	}
	return out
}

// each reads one list of cases.
func each[T any](t *testing.T, list []json.RawMessage, test func(t *testing.T, c *T)) {
	for i, text := range list {
		var c struct {
			ID string `json:"id"`
		}
		v := new(T)
		for _, into := range []any{&c, v} {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
		}
		if c.ID == "" {
			c.ID = strconv.Itoa(i)
		}
		t.Run(c.ID, func(t *testing.T) { test(t, v) })
	}
}

type scoreCase struct {
	Comparator  string         `json:"comparator"`
	Endpoint    vectorEndpoint `json:"endpoint"`
	InputTokens uint64         `json:"input_tokens"`
	Priority    uint32         `json:"priority"`
	Score       any            `json:"score"`
}

func TestScoreVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.ScoreCases, func(t *testing.T, c *scoreCase) {
			at := slices.Index(comparatorNames[:], c.Comparator)
			if at < 0 {
				t.Fatalf("no comparator %q", c.Comparator)
			}
			e := c.Endpoint.endpoint(t)
			got := Comparator(at).score(&e, &Request{InputTokens: c.InputTokens, Priority: c.Priority})
			want, ok := c.Score.(float64)
			if !ok {
				want = math.Inf(1)
			}
			if got != want && !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("score %v, want %v", got, want)
			}
		})
	})
}

type poolCase struct {
	Settings struct {
		Floor     *uint64         `json:"floor"`
		Ceil      *uint64         `json:"ceil"`
		Bucket    *uint64         `json:"bucket"`
		Factor    *float64        `json:"factor"`
		MaxQueued json.RawMessage `json:"max_queued"`
		IQ, IP    bool
	} `json:"settings"`
	Endpoints    []vectorEndpoint `json:"endpoints"`
	ElapsedMS    float64          `json:"elapsed_ms"`
	InputTokens  uint64           `json:"input_tokens"`
	Priority     uint32           `json:"priority"`
	SLO          uint64           `json:"request_slo_ms"`
	Excluded     []string         `json:"excluded"`
	SamplingPool []string         `json:"sampling_pool"`
}

// definition lays the case's settings over the defaults.
func (c *poolCase) definition(t *testing.T) *Definition {
	t.Helper()
	d := defined(t, WaitAndWiden)
	s := c.Settings
	if s.Floor != nil && s.Ceil != nil {
		d.limited, d.floor, d.ceil = true, float64(*s.Floor), float64(*s.Ceil)
	}
	if s.Bucket != nil {
		d.bucket = float64(*s.Bucket)
	}
	if s.Factor != nil {
		d.factor = *s.Factor
	}
	if v, set := optional(t, s.MaxQueued); set {
		d.maxQueued = v
	}
	d.ignoreQueue, d.ignorePrefill = s.IQ, s.IP
	return d
}

// defined compiles an expression over the defaults.
func defined(t testing.TB, expression string) *Definition {
	t.Helper()
	got, r := parsed(t, everything).Resolve("m", expression)
	if r != nil {
		t.Fatal(r)
	}
	return Compile(&got.Settings)
}

func TestWaitAndWidenVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.WaitAndWidenPools, func(t *testing.T, c *poolCase) {
			p := NewPicker(Limits{})
			r := &Request{
				InputTokens: c.InputTokens, HasInputTokens: true, Priority: c.Priority, SLO: c.SLO,
				Elapsed: time.Duration(c.ElapsedMS * float64(time.Millisecond)),
			}
			list := endpoints(t, c.Endpoints, c.Excluded)
			p.begin(Query{c.definition(t), NewInstance(), r, list, 1})
			var got []string
			for _, position := range p.unlocked(p.eligible()) {
				got = append(got, list[position].ID)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.SamplingPool) {
				t.Errorf("pool %v, want %v", got, c.SamplingPool)
			}
		})
	})
}

type hashCase struct {
	Kind        string `json:"kind"`
	Seed        string `json:"seed"`
	RoutingKey  string `json:"routing_key"`
	Model       string `json:"model"`
	AffinityKey string `json:"cache_affinity_key"`
	Endpoint    string `json:"endpoint"`
	VirtualNode uint64 `json:"virtual_node"`
	Want        string `json:"xxh3_64"`
}

func TestHashVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.HashCases, func(t *testing.T, c *hashCase) {
			f := fields(nil).start(&Definition{seed: c.Seed}, &Request{RoutingKey: c.RoutingKey, Model: c.Model})
			switch c.Kind {
			case "rank":
				f = f.add(tagAffinityKey, c.AffinityKey).add(tagEndpoint, c.Endpoint)
			case "ring_key":
				f = f.add(tagAffinityKey, c.AffinityKey)
			case "ring_node":
				f = f.add(tagEndpoint, c.Endpoint).addNode(0)
				f.setNode(c.VirtualNode)
			default:
				t.Fatalf("kind %q", c.Kind)
			}
			if want, err := strconv.ParseUint(c.Want, 0, 64); err != nil || f.sum() != want {
				t.Errorf("hash %#x, want %s", f.sum(), c.Want)
			}
		})
	})
}

type rankingCase struct {
	Seed        string             `json:"seed"`
	RoutingKey  string             `json:"routing_key"`
	Model       string             `json:"model"`
	AffinityKey string             `json:"cache_affinity_key"`
	Rates       map[string]float64 `json:"endpoints_tps"`
	Ranking     []string           `json:"ranking"`
}

func TestPulsarRankingVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.PulsarRankings, func(t *testing.T, c *rankingCase) {
			var list []Endpoint
			for id, rate := range c.Rates {
				list = append(list, Endpoint{ID: id, TPS: rate})
			}
			sortByID(list)
			d := defined(t, Pulsar)
			d.seed = c.Seed
			r := &Request{RoutingKey: c.RoutingKey, Model: c.Model, AffinityKey: c.AffinityKey}
			got := pick(NewPicker(Limits{}), len(list), d, r, list)
			if !slices.Equal(got, c.Ranking) {
				t.Errorf("ranking %v, want %v", got, c.Ranking)
			}
		})
	})
}

func sortByID(list []Endpoint) {
	slices.SortFunc(list, func(a, b Endpoint) int { return strings.Compare(a.ID, b.ID) })
}

// pick picks for a target without state and names the choices.
func pick(p *Picker, want int, d *Definition, r *Request, list []Endpoint) []string {
	positions, _ := p.Pick(nil, Query{d, NewInstance(), r, list, want})
	var ids []string
	for _, at := range positions {
		ids = append(ids, list[at].ID)
	}
	return ids
}

type subsetCase struct {
	Seed           string   `json:"seed"`
	RoutingKey     string   `json:"routing_key"`
	Model          string   `json:"model"`
	AffinityKey    string   `json:"cache_affinity_key"`
	Endpoints      []string `json:"endpoints"`
	VirtualNodes   uint64   `json:"virtual_nodes"`
	SelectionCount uint64   `json:"selection_count"`
	Excluded       []string `json:"excluded"`
	Subset         []string `json:"subset"`
}

func TestAffinityVectors(t *testing.T) {
	for _, how := range []struct {
		name   string
		limits Limits
	}{{"ring", Limits{}}, {"without a ring", Limits{RingBytes: -1}}} {
		t.Run(how.name, func(t *testing.T) {
			eachVectors(t, func(t *testing.T, v *vectors) {
				each(t, v.AffinitySubsets, func(t *testing.T, c *subsetCase) {
					var list []Endpoint
					for _, id := range c.Endpoints {
						list = append(list, Endpoint{ID: id, Excluded: slices.Contains(c.Excluded, id)})
					}
					d := defined(t, WaitAndWiden)
					d.seed, d.virtual, d.selection = c.Seed, c.VirtualNodes, c.SelectionCount
					p := NewPicker(how.limits)
					i := NewInstance()
					p.begin(Query{d, i, &Request{RoutingKey: c.RoutingKey, Model: c.Model, AffinityKey: c.AffinityKey}, list, 1})
					var got []string
					for _, at := range p.affinity() {
						got = append(got, list[at].ID)
					}
					if !slices.Equal(got, c.Subset) {
						t.Errorf("subset %v, want %v", got, c.Subset)
					}
					if (i.ring != nil) != (how.limits.RingBytes == 0) {
						t.Errorf("a ring: %v", i.ring != nil)
					}
				})
			})
		})
	}
}

type bandCase struct {
	Ranked int      `json:"ranked"`
	Bands  [][2]int `json:"bands"`
}

func TestBandVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.Bands, func(t *testing.T, c *bandCase) {
			var got [][2]int
			for from := 0; from < c.Ranked; {
				to := band(from, c.Ranked)
				got = append(got, [2]int{from + 1, to})
				from = to
			}
			if !slices.Equal(got, c.Bands) {
				t.Errorf("bands %v, want %v", got, c.Bands)
			}
		})
	})
}

type admissionCase struct {
	Algorithm   string           `json:"algorithm"`
	ConsiderKV  bool             `json:"consider_kv_free_tokens"`
	Endpoints   []vectorEndpoint `json:"endpoints"`
	Excluded    []string         `json:"excluded"`
	InputTokens uint64           `json:"input_tokens"`
	MaxSeconds  float64          `json:"max_input_work_seconds"`
	Rejected    string           `json:"rejected_with"`
}

func TestAdmissionVectors(t *testing.T) {
	eachVectors(t, func(t *testing.T, v *vectors) {
		each(t, v.AdmissionCases, func(t *testing.T, c *admissionCase) {
			d := defined(t, c.Algorithm)
			d.considerKV, d.maxWork = c.ConsiderKV, c.MaxSeconds
			got := Admit(d, &Request{InputTokens: c.InputTokens, HasInputTokens: true}, endpoints(t, c.Endpoints, c.Excluded))
			if got.String() != c.Rejected {
				t.Errorf("%q, want %q", got, c.Rejected)
			}
		})
	})
}
