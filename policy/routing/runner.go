// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/stargate"
)

// Runner lets pools pick with any definition. It holds the scratch of one pick
// at a time and the rings of a VM.
type Runner struct {
	picker    *stargate.Picker
	random    *rand.Rand
	endpoints []stargate.Endpoint
	request   stargate.Request // with what was open in the one that is bound
	key       [16]byte         // what request.AffinityKey may point to
	bound     bound
}

// NewRunner returns a runner with a random stream of its own.
func NewRunner(seed uint64, limits stargate.Limits) *Runner {
	return &Runner{picker: stargate.NewPicker(limits), random: rand.New(rand.NewPCG(seed, 0x726f7574696e67))}
}

// bound is a definition for the picks of one request.
type bound struct {
	runner     *Runner
	definition *Definition
	instance   *Instance
	pool       *policy.Pool
	request    *stargate.Request
	outcome    stargate.Outcome
}

// Bind returns the choice as something that pool can pick with. It is valid for
// one pick, until the next Bind. What r leaves open is filled in from what is
// known of the prompt by the time of the pick: the affinity key from the
// conversation, the input tokens from its length.
func (n *Runner) Bind(d *Definition, i *Instance, pool *policy.Pool, r *stargate.Request) policy.Instance {
	if d.own != nil {
		n.bound = bound{outcome: stargate.Outcome{RankDepth: 1}}
		return i.own
	}
	n.bound = bound{runner: n, definition: d, instance: i, pool: pool, request: r}
	return &n.bound
}

// Limit bounds the points of the rings that are built from now on, as
// stargate.Limits does.
func (n *Runner) Limit(maxRingPoints int) { n.picker.Limit(maxRingPoints) }

// Outcome says more about the pick since the last Bind.
func (n *Runner) Outcome() stargate.Outcome { return n.bound.outcome }

// Admit judges the definition's limit on waiting prompt work. prompt is what is
// known of the request's prompt.
func (n *Runner) Admit(d *Definition, pool *policy.Pool, r *stargate.Request, prompt *policy.Request) stargate.Admission {
	if !d.stargate.Limited() {
		return stargate.Admitted
	}
	n.complete(d, pool, r, prompt)
	n.survey(d, pool, prompt.Now)
	for at, e := range pool.View().Endpoints() {
		n.endpoints[at].Excluded = !e.Ready(prompt.Now) || slices.Contains(prompt.Excluded, e.Index)
	}
	return stargate.Admit(d.stargate, &n.request, n.endpoints)
}

// complete makes n.request of r and of what is known of its prompt.
func (n *Runner) complete(d *Definition, pool *policy.Pool, r *stargate.Request, prompt *policy.Request) {
	n.request = *r
	q := &n.request
	q.Now = prompt.Now
	if q.AffinityKey == "" && prompt.KeyKnown && d.stargate.UsesAffinity() {
		q.AffinityKey = n.hex(prompt.Key)
	}
	if !q.HasInputTokens && prompt.Length > 0 {
		q.InputTokens, q.HasInputTokens = uint64(pool.Tokens(prompt.Length)), true
	}
}

// Name implements policy.Definition.
func (b *bound) Name() string { return b.definition.stargate.Name() }

// Need implements policy.Definition: a hash of the affinity key waits for the
// conversation where no header names the key.
func (b *bound) Need() policy.Need {
	if b.definition.stargate.UsesAffinity() && b.request.AffinityKey == "" {
		return policy.NeedKey
	}
	return policy.NeedNothing
}

// New implements policy.Definition. The state is the target's already.
func (b *bound) New(uint64) policy.Instance { return b }

// Rank implements policy.Instance.
func (b *bound) Rank(d *policy.Draw) {
	n := b.runner
	n.complete(b.definition, b.pool, b.request, d.Request)
	n.request.Draw = n.random.Uint64()
	n.survey(b.definition, b.pool, d.Request.Now)
	for _, at := range d.Candidates {
		n.endpoints[at].Excluded = false
	}
	d.Ranked, b.outcome = n.picker.Pick(d.Ranked, stargate.Query{
		Definition: b.definition.stargate, Instance: b.instance.stargate,
		Request: &n.request, Endpoints: n.endpoints, Want: policy.MaxChoices,
	})
}

// survey fills the endpoints from the pool's load, all of them excluded.
func (n *Runner) survey(d *Definition, pool *policy.Pool, now time.Duration) {
	list := pool.View().Endpoints()
	n.endpoints = n.endpoints[:0]
	for _, e := range list {
		n.endpoints = append(n.endpoints, endpoint(e, d.stargate.Ranks(), now))
	}
}

// endpoint is e as package stargate sees it. Queues count our own streams and
// other workers' besides what the engine reports.
func endpoint(e *load.Endpoint, stable bool, now time.Duration) stargate.Endpoint {
	out := stargate.Endpoint{
		ID: e.ID, Excluded: true,
		TPS:               rate(e, stable),
		QueuedInputTokens: count(e.Queue()),
		Running:           count(e.Running()),
	}
	out.QueueSize = out.Running
	s := &e.Stats
	if !s.Known(now) {
		return out
	}
	present := e.Present()
	out.QueuedInputTokens, out.Running = count(present.Queued), count(present.InFlight)
	out.QueueSize = count(present.InFlight - s.Running)
	out.RTT = float64(s.RTT) / float64(time.Millisecond)
	out.MaxConcurrency = count(s.MaxConcurrency)
	out.QueueTimes = s.QueueTimes
	out.KVCapacity, out.KVUsed, out.KVFree = count(s.KVCapacity), count(s.KVUsed), count(s.KVFree)
	return out
}

// rate is e's prefill rate: as it publishes it, else as configured, else as
// learnt. Where workers must agree on a ranking it isn't what this one has
// learnt but the rate that all start from, by capacity.
func rate(e *load.Endpoint, stable bool) float64 {
	switch {
	case e.Stats.InputRate > 0:
		return e.Stats.InputRate
	case e.Rate > 0:
		return e.Rate
	case stable && e.Weight > 0:
		return load.PrefillPrior().Value * e.Weight
	case stable:
		return load.PrefillPrior().Value
	}
	return e.Prefill.Value()
}

// count rounds to a whole number of tokens or requests.
func count(v float64) uint64 {
	if !(v > 0) {
		return 0
	}
	return uint64(math.Round(min(v, 1<<62)))
}

// hex returns a conversation key as an affinity key. The text is valid until
// the next call.
func (n *Runner) hex(key uint64) string {
	const digits = "0123456789abcdef"
	for i := range n.key {
		n.key[i] = digits[key>>(60-4*i)&15]
	}
	return unsafe.String(&n.key[0], len(n.key))
}
