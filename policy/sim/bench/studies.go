// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/kvsteer/kvsteer/policy/sim"

// column is one load under one set of conditions.
type column struct {
	title  string
	load   string  // as loadTrace has it
	speed  float64 // times the arrival rate; 0 = 1
	change func(*sim.Config)
}

// study is one table: policies by columns.
type study struct {
	name    string
	title   string
	tables  []table
	rows    []string // policies; "prefix-aware -term" is without a term of the cost
	columns []column
	config  sim.Config // what all cells share
	picture bool
	seeds   int
}

// table is one way to show a study.
type table struct {
	title string
	cell  cell
}

var (
	short = []table{{"mean first token in s", mean}}
	full  = []table{
		{"mean first token in s (busiest / mean engine)", meanAndImbalance},
		{"p99 of the first token in s", p99},
		{"share of prompt tokens from caches", hits},
	}
)

// rivals are the policies that are compared everywhere.
var rivals = []string{
	"greedy-oracle", "prefix-aware", "sticky-until-saturated", "llm-d", "dynamo-prefill", "dynamo", "lmetric",
	"smg-cache-aware", "kubeai-chwbl", "production-stack-prefixaware", "topology", "least-tokens",
	"least-request", "p2c", "plain-round-robin", "plain-random", "greedy-oracle-fresh", "infinite-cache",
}

// near are the rivals that stay near on at least some loads.
var near = []string{
	"greedy-oracle", "prefix-aware", "sticky-until-saturated", "llm-d", "dynamo-prefill", "lmetric", "smg-cache-aware", "least-tokens",
}

// loads are the columns of most studies.
func loads() []column {
	return []column{
		{title: "conversation", load: "conversation"},
		{title: "conversation × 0.05", load: "conversation", speed: 0.05},
		{title: "synthetic", load: "synthetic"},
		{title: "1 head", load: "1 heads"},
		{title: "20 heads", load: "20 heads"},
		{title: "150 heads", load: "150 heads"},
		{title: "600 heads", load: "600 heads"},
		{title: "agents", load: "agents"},
		{title: "150 tenants", load: "tenants"},
	}
}

// but is the loads without those of these titles.
func but(titles ...string) []column {
	var out []column
next:
	for _, c := range loads() {
		for _, t := range titles {
			if c.title == t {
				continue next
			}
		}
		out = append(out, c)
	}
	return out
}

// at is the same columns at another speed.
func at(columns []column, speed float64) []column {
	for i := range columns {
		columns[i].speed = speed
	}
	return columns
}

func gateways(n int, age float64) sim.Config {
	return sim.Config{Engines: 8, Gateways: n, LoadAge: age, Model: sim.SimpleModel()}
}

func hard(n int, age float64) sim.Config {
	c := gateways(n, age)
	c.Model = sim.HardModel()
	c.Options = sim.Options{KnowSpeeds: true, CountDecode: true}
	return c
}

func metrics(n int, age float64) sim.Config {
	c := gateways(n, age)
	c.View = sim.MetricsView
	return c
}

// half is c with engine 0 at half the pace of the others.
func half(c sim.Config, known bool) sim.Config {
	c.Model.SlowFirst = 0.5
	c.Options.KnowSpeeds = known
	return c
}

func studies() []study {
	slow := []string{"conversation × 0.05"}
	all := []study{
		{name: "one", title: "One gateway, load every 0.5 s",
			tables: full, rows: rivals, columns: loads(), config: gateways(1, 0.5), picture: true},
		{name: "four", title: "Four gateways that share nothing, load every 1 s",
			tables: full, rows: rivals, columns: loads(), config: gateways(4, 1), picture: true},
		{name: "one-0.6", title: "One gateway, 0.6 times the arrivals",
			tables: short, rows: near, columns: at(but(slow...), 0.6), config: gateways(1, 0.5)},
		{name: "one-1.15", title: "One gateway, 1.15 times the arrivals",
			tables: short, rows: near, columns: at(but(slow...), 1.15), config: gateways(1, 0.5)},
		{name: "four-0.6", title: "Four gateways, 0.6 times the arrivals",
			tables: short, rows: near, columns: at(but(slow...), 0.6), config: gateways(4, 1)},
		{name: "four-1.15", title: "Four gateways, 1.15 times the arrivals",
			tables: short, rows: near, columns: at(but(slow...), 1.15), config: gateways(4, 1)},
		{name: "age-0", title: "Four gateways, fresh load", tables: short, rows: near, columns: but(slow...), config: gateways(4, 0)},
		{name: "age-5", title: "Four gateways, load every 5 s",
			tables: short, rows: near, columns: but(slow...), config: gateways(4, 5), picture: true},
		{name: "metrics-1", title: "One gateway, load as /metrics shows it every 0.5 s, own requests followed",
			tables: short, rows: near, columns: but(slow...), config: metrics(1, 0.5)},
		{name: "metrics-4", title: "Four gateways, load as /metrics shows it every 1 s, own requests followed",
			tables: short, rows: near, columns: but(slow...), config: metrics(4, 1)},
		{name: "half-1", title: "One gateway, engine 0 at half pace, known",
			tables: short, rows: near, columns: but(slow...), config: half(gateways(1, 0.5), true)},
		{name: "half-4", title: "Four gateways, engine 0 at half pace, known",
			tables: short, rows: near, columns: but(slow...), config: half(gateways(4, 1), true)},
		{name: "half-learnt", title: "One gateway, engine 0 at half pace, learnt from first tokens, load as /metrics shows it",
			tables: short, rows: near, columns: but(slow...), config: half(metrics(1, 0.5), false)},
		{name: "hard-1", title: "One gateway, harder engines",
			tables: short, rows: near, columns: but("agents", "150 tenants"), config: hard(1, 0.5), picture: true},
		{name: "hard-4", title: "Four gateways, harder engines",
			tables: short, rows: near, columns: but("agents", "150 tenants", slow[0]), config: hard(4, 1)},
	}
	return append(all, ownStudies()...)
}

// ownStudies look at the default algorithm by itself.
func ownStudies() []study {
	terms := []string{"prefix-aware"}
	for _, t := range []string{"price", "evict", "discount", "head-key", "prior", "rank", "tie"} {
		terms = append(terms, "prefix-aware -"+t)
	}
	return []study{
		{name: "terms-1", title: "One gateway, a term of the cost switched off",
			tables: short, rows: terms, columns: loads(), config: gateways(1, 0.5)},
		{name: "terms-4", title: "Four gateways, a term of the cost switched off",
			tables: short, rows: terms, columns: loads(), config: gateways(4, 1)},
		{name: "early", title: "Agents, bodies read in chunks of 16 KiB by the real scanner",
			tables: []table{{"mean first token in s (choices final before the end, share of bodies awaited)", meanAndEarly}}, rows: []string{"prefix-aware"}, columns: bodies(), config: gateways(1, 0.5)},
		{name: "changes", title: "Conversation trace, engine 3 lost or joining in the middle",
			tables:  []table{{"mean first token in s (share of later turns on another engine)", meanAndMoved}},
			rows:    []string{"prefix-aware", "topology", "greedy-oracle", "sticky-until-saturated", "kubeai-chwbl", "hrw-bounded", "least-tokens"},
			columns: changing(), config: gateways(1, 0.5)},
	}
}

// changing are the conversation trace with all engines, one lost, one joining.
func changing() []column {
	const middle = 1800 // s of the trace
	change := func(down bool) func(*sim.Config) {
		return func(c *sim.Config) { c.Changes = []sim.Change{{At: middle, Engine: 3, Down: down}} }
	}
	return []column{
		{title: "all", load: "conversation"},
		{title: "one is lost", load: "conversation", change: change(true)},
		{title: "one joins", load: "conversation", change: change(false)},
	}
}

// bodies are agents whose bodies are read as they come.
func bodies() []column {
	trust := func(c *sim.Config) { c.Options.TrustTag = true }
	return []column{
		{title: "tools first", load: "bodies"},
		{title: "tools first, tag trusted", load: "bodies", change: trust},
		{title: "tools last", load: "bodies-tools-last", change: trust},
		{title: "tools first, tag trusted, chunked", load: "bodies", change: func(c *sim.Config) {
			c.Options.TrustTag, c.Options.Chunked = true, true
		}},
	}
}
