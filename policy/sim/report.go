// SPDX-License-Identifier: Apache-2.0

package sim

import "slices"

// Report is what a run showed.
type Report struct {
	Policy           string  `json:"policy"`
	Trace            string  `json:"trace"`
	Engines          int     `json:"engines"`
	Gateways         int     `json:"gateways"`
	LoadAgeSeconds   float64 `json:"load_age_seconds"`
	Requests         int     `json:"requests"`
	MeanFirstToken   float64 `json:"mean_first_token_seconds"`
	MedianFirstToken float64 `json:"p50_first_token_seconds"`
	P99FirstToken    float64 `json:"p99_first_token_seconds"`
	HitRatio         float64 `json:"hit_ratio"`
	Imbalance        float64 `json:"imbalance"`
	MovedShare       float64 `json:"moved_share"`
	// Where bodies are read as they come: the share of requests whose choice was
	// final before the end, and the share of a body that was awaited.
	EarlyShare   float64 `json:"early_share,omitempty"`
	AwaitedShare float64 `json:"awaited_share,omitempty"`
}

func (r *run) report() Report {
	out := Report{
		Policy: r.Policy.Name, Trace: r.Trace.Name, Engines: r.Engines, Gateways: r.Gateways,
		LoadAgeSeconds: r.LoadAge, Requests: len(r.done),
	}
	var waits []float64
	cached, total := 0.0, 0.0
	for _, j := range r.done {
		waits = append(waits, j.first-j.r.At)
		cached += float64(j.cached)
		total += float64(j.r.Input)
	}
	if len(waits) == 0 {
		return out
	}
	slices.Sort(waits)
	for _, w := range waits {
		out.MeanFirstToken += w / float64(len(waits))
	}
	out.MedianFirstToken = waits[len(waits)/2]
	out.P99FirstToken = waits[len(waits)*99/100]
	out.HitRatio = cached / total
	most, sum := 0.0, 0.0
	for _, e := range r.engines {
		most = max(most, e.computed)
		sum += e.computed
	}
	out.Imbalance = most / sum * float64(r.Engines)
	out.MovedShare = r.moved()
	r.reportEarly(&out)
	return out
}

// reportEarly adds what the gateways' scanners waited for.
func (r *run) reportEarly(out *Report) {
	var sum awaited
	for _, g := range r.gateways {
		if s, ok := g.policy.(*steered); ok {
			sum.requests += s.reader.requests
			sum.early += s.reader.early
			sum.share += s.reader.share
		}
	}
	if sum.requests > 0 {
		out.EarlyShare = float64(sum.early) / float64(sum.requests)
		out.AwaitedShare = sum.share / float64(sum.requests)
	}
}

// moved is the share of requests that went to another engine than the one
// before them in their conversation.
func (r *run) moved() float64 {
	slices.SortFunc(r.done, func(a, b *job) int { return byArrival(*a.r, *b.r) })
	last := map[int]int{}
	moved, followed := 0, 0
	for _, j := range r.done {
		e, ok := last[j.r.Key]
		last[j.r.Key] = j.engine
		if !ok {
			continue
		}
		followed++
		if e != j.engine {
			moved++
		}
	}
	if followed == 0 {
		return 0
	}
	return float64(moved) / float64(followed)
}
