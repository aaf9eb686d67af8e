// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/kvsteer/kvsteer/policy/load"
)

// View says what gateways learn of engines at each refresh.
type View uint8

const (
	// ExactView shows the exact tokens queued; a gateway adds what it sends
	// until the next refresh.
	ExactView View = iota
	// MetricsView shows what an engine's /metrics page does, the numbers of
	// waiting and running requests; a gateway follows its own requests to their
	// ends, as the module does in Envoy.
	MetricsView
)

// Change is an engine that is lost (with its cache and what it was asked) or
// joins.
type Change struct {
	At     float64
	Engine int
	Down   bool
}

// Config is one run.
type Config struct {
	Trace    Trace
	Engines  int
	Gateways int
	LoadAge  float64 // seconds between refreshes; 0 = refreshed for every pick
	Model    Model
	View     View
	Policy   Maker
	Options  Options
	Changes  []Change // by ascending time; an engine that joins is down before
	Seed     uint64   // of all that is drawn, hashing included
}

// ErrConfig is returned by Run for a Config without engines, gateways or
// policy, and for more engines than the policy can tell apart.
var ErrConfig = errors.New("sim: engines, gateways and a policy that can tell the engines apart are needed")

// run is the state of one run.
type run struct {
	Config
	engines  []*Engine
	gateways []*gateway
	random   *rand.Rand
	refresh  float64
	changes  []Change
	done     []*job
}

// gateway is a Gateway with its policy and its own view of the load.
type gateway struct {
	Gateway
	policy    Policy
	view      *load.View
	endpoints []*load.Endpoint // by engine
}

// viewer is a policy that brings its own load view.
type viewer interface{ View() *load.View }

// watcher is a policy that is told when a request's first token is out.
type watcher interface{ First(j *job) }

// ender is a policy that is told when a request has ended.
type ender interface{ End(j *job, now float64) }

// sender is a policy that starts a request's flight itself.
type sender interface{ Send(j *job) }

// Run plays the trace.
func Run(c Config) (Report, error) {
	if c.Engines < 1 || c.Gateways < 1 || c.Policy.New == nil {
		return Report{}, ErrConfig
	}
	r := &run{Config: c, random: rand.New(rand.NewPCG(c.Seed, 3)), changes: c.Changes}
	if !r.build() {
		return Report{}, ErrConfig
	}
	for i := range c.Trace.Requests {
		q := &c.Trace.Requests[i]
		r.advance(q.At)
		r.send(q, q.At)
	}
	r.advance(math.Inf(1))
	return r.report(), nil
}

// build makes engines and gateways; false if the policy can't serve them.
func (r *run) build() bool {
	shared := newLRU(0, false)
	for e := range r.Engines {
		engine := newEngine(r.Model, e)
		if r.Policy.Name == infiniteName {
			engine.cache = shared
		}
		r.engines = append(r.engines, engine)
	}
	for _, c := range r.changes {
		if !c.Down {
			r.engines[c.Engine].down = true
		}
	}
	for i := range r.Gateways {
		g := r.gateway(i)
		if g.policy == nil {
			return false
		}
		r.gateways = append(r.gateways, g)
	}
	return true
}

// gateway makes the gateway of this number.
func (r *run) gateway(i int) *gateway {
	g := &gateway{Gateway: Gateway{
		Index: i, Count: r.Gateways, Model: r.Model, Options: r.Options,
		fleet: r.engines, metrics: r.View == MetricsView,
		Loads:  make([]Load, r.Engines),
		Random: rand.New(rand.NewPCG(r.Seed, uint64(100+i))), HashSeed: r.Seed,
	}}
	for e := range g.Loads {
		g.Loads[e].Down = r.engines[e].down
	}
	g.policy = r.Policy.New(&g.Gateway)
	if v, ok := g.policy.(viewer); ok {
		g.view = v.View()
	} else {
		g.view = &load.View{}
		g.view.SetEndpoints(r.specs())
	}
	for e := range r.engines {
		g.endpoints = append(g.endpoints, g.view.Find(engineName(e)))
	}
	return g
}

// specs are the engines as endpoints.
func (r *run) specs() []load.Spec {
	var out []load.Spec
	for e := range r.engines {
		out = append(out, load.Spec{ID: engineName(e), Healthy: true})
	}
	return out
}

// advance plays what happens until t.
func (r *run) advance(t float64) {
	for {
		at, what := r.next()
		if at > t || math.IsInf(at, 1) {
			return
		}
		what()
	}
}

// next is the next thing to happen and its time.
func (r *run) next() (float64, func()) {
	at, what := math.Inf(1), func() {}
	for _, e := range r.engines {
		if e.active != nil && e.finish < at {
			at, what = e.finish, func() { r.first(e.complete()) }
		}
		if len(e.running) > 0 && e.running[0].end < at {
			at, what = e.running[0].end, func() { r.end(e.retire()) }
		}
	}
	if len(r.changes) > 0 && r.changes[0].At <= at {
		at, what = r.changes[0].At, r.change
	}
	if r.LoadAge > 0 && r.refresh <= at && !math.IsInf(at, 1) {
		at, what = r.refresh, r.renew
	}
	return at, what
}

// first notes that a first token is out.
func (r *run) first(j *job) {
	r.done = append(r.done, j)
	j.flight.First(clock(j.first))
	if w, ok := r.gateways[j.gateway].policy.(watcher); ok {
		w.First(j)
	}
}

// end notes that an answer is complete.
func (r *run) end(j *job) {
	j.flight.End()
	if p, ok := r.gateways[j.gateway].policy.(ender); ok {
		p.End(j, j.end)
	}
}

// change plays the next loss or join.
func (r *run) change() {
	c := r.changes[0]
	r.changes = r.changes[1:]
	e := r.engines[c.Engine]
	orphans := e.waiting
	if e.active != nil {
		orphans = append([]*job{e.active}, orphans...)
	}
	for _, d := range e.running {
		d.job.flight.End()
	}
	*e = *newEngine(r.Model, c.Engine)
	e.down = c.Down
	for _, g := range r.gateways {
		g.Loads[c.Engine] = Load{Down: c.Down}
	}
	for _, j := range orphans {
		j.flight.End()
		r.send(j.r, c.At)
	}
}

// renew refreshes the load of all gateways.
func (r *run) renew() {
	now := r.refresh
	r.refresh += r.LoadAge
	for _, g := range r.gateways {
		r.observe(g, now)
	}
}

// observe shows the engines to a gateway.
func (r *run) observe(g *gateway, now float64) {
	for i, e := range r.engines {
		g.Loads[i] = Load{
			Queue: e.queue(), Requests: float64(e.requests()), Waiting: float64(len(e.waiting)),
			KVUse: e.kvUse(), Blocks: float64(e.held), Down: e.down,
		}
		s := load.Stats{At: clock(now), KVUse: g.Loads[i].KVUse}
		if r.View == MetricsView {
			s.Waiting = g.Loads[i].Waiting
			s.Running = g.Loads[i].Requests - s.Waiting
		}
		g.view.Report(g.endpoints[i], s)
	}
}

// send lets a gateway pick for q.
func (r *run) send(q *Request, now float64) {
	which := r.random.IntN(r.Gateways)
	g := r.gateways[which]
	if r.LoadAge == 0 {
		r.observe(g, now)
	}
	if r.View == MetricsView {
		r.follow(g, now)
	}
	e, uncached := g.policy.Pick(q, now)
	j := &job{r: q, gateway: which, engine: e, sent: now}
	if r.View == MetricsView {
		r.take(g, j, uncached, now)
	} else {
		l := &g.Loads[e]
		l.Queue += uncached
		l.Requests++
		l.Waiting++
		l.Blocks += float64(blocksOf(q))
	}
	r.engines[e].enqueue(j, now)
}

// take starts the request's flight.
func (r *run) take(g *gateway, j *job, uncached, now float64) {
	g.Loads[j.engine].Waiting++
	if s, ok := g.policy.(sender); ok {
		s.Send(j)
		return
	}
	j.flight.Start(g.endpoints[j.engine], load.Claim{Tokens: int64(uncached), Streamed: true}, clock(now))
}

// follow brings a gateway's loads up to date from its own view.
func (r *run) follow(g *gateway, now float64) {
	g.view.Tick(clock(now))
	for i := range g.Loads {
		g.Loads[i].Queue = g.endpoints[i].Queue()
		g.Loads[i].Requests = g.endpoints[i].Running()
	}
}
