// SPDX-License-Identifier: Apache-2.0

package stargate

import (
	"math"

	"github.com/kvsteer/kvsteer/expr"
)

// The canonical names of the algorithms.
const (
	PowerOfN           = "power-of-n"
	WaitAndWiden       = "wait-and-widen"
	Pulsar             = "pulsar"
	PulsarWaitAndWiden = "pulsar-wait-and-widen"
)

// The names of the parameters.
const (
	sampleCount     = "sample_count"
	comparator      = "comparator"
	seed            = "seed"
	virtualNodes    = "cache_affinity_virtual_nodes"
	selectionCount  = "cache_affinity_backend_selection_count"
	queueFloor      = "max_queue_time_floor_ms"
	queueCeil       = "max_queue_time_ceil_ms"
	bucketSize      = "ttft_bucket_size_ms"
	unlockFactor    = "next_bucket_unlock_factor"
	choices         = "n"
	maxQueued       = "max_queued"
	ignoreQueue     = "ignore_queue_time"
	ignorePrefill   = "ignore_input_processing_time"
	considerKV      = "consider_kv_free_tokens"
	requireAffinity = "require_cache_affinity_key"
	requireTokens   = "require_input_tokens"
	maxWorkSeconds  = "max_input_work_seconds"
)

// Bounds and defaults of parameters, where they are more than 0 to everything.
const (
	maxVirtualNodes     = 1024 // a ring point costs 16 bytes and a hash
	defaultVirtualNodes = 150
	maxSamples          = 64
	maxSeedBytes        = 1024
	defaultBucketMS     = 20
	defaultUnlocking    = 0.25
)

// Policies returns the parameters that every algorithm takes. They are the
// operator's, and a request that may set them at all may only tighten them.
func Policies() []expr.Parameter {
	return []expr.Parameter{
		{
			Name: requireAffinity, Type: expr.Bool, Default: expr.BoolValue(false),
			Operator: true, Tighten: expr.OnlyOn, Demands: expr.AffinityKey,
		},
		{
			Name: requireTokens, Type: expr.Bool, Default: expr.BoolValue(false),
			Operator: true, Tighten: expr.OnlyOn, Demands: expr.InputTokens,
		},
		{
			Name: maxWorkSeconds, Type: expr.Number,
			Request: positive, Static: positive,
			Operator: true, Tighten: expr.OnlyLower,
		},
	}
}

var (
	positive    = expr.Range{Max: math.MaxFloat64, Open: true}
	notNegative = expr.Range{Max: math.MaxFloat64}
)

// Algorithms returns the declarations of all algorithms of this package.
func Algorithms() []expr.Algorithm {
	return []expr.Algorithm{
		{
			Name: PowerOfN, Aliases: []string{"power-of-two", "powerof2", "powerofn"},
			Parameters: with(sampleCountOf(), comparatorOf(sampleCount)),
		},
		{
			Name: WaitAndWiden, Aliases: []string{"groq-multiregion"}, Stateful: true,
			Parameters: with(append(widening(),
				comparatorOf(choices),
				seedOf(expr.InertWhile(selectionCount, 0)),
				virtualNodesOf(expr.InertWhile(selectionCount, 0)),
				selectionCountOf(expr.Inert{}),
			)...),
		},
		{Name: Pulsar, Parameters: with(seedOf(expr.Inert{}), considerKVOf())},
		{
			Name: PulsarWaitAndWiden, Aliases: []string{"pulsar-multiregion"},
			Parameters: with(append(widening(),
				seedOf(expr.Inert{}),
				considerKVOf(),
				virtualNodesOf(expr.InertAlways),
				selectionCountOf(expr.InertAlways),
			)...),
		},
	}
}

// with adds the policies to an algorithm's own parameters.
func with(own ...expr.Parameter) []expr.Parameter { return append(own, Policies()...) }

// widening returns the parameters of the search that both widening algorithms
// share.
func widening() []expr.Parameter {
	ms := func(name string) expr.Parameter {
		return expr.Parameter{Name: name, Type: expr.Uint, Request: expr.AnyUint, Static: expr.AnyUint}
	}
	flag := func(name string) expr.Parameter {
		return expr.Parameter{Name: name, Type: expr.Bool, Default: expr.BoolValue(false)}
	}
	floor, ceil, bucket, queued := ms(queueFloor), ms(queueCeil), ms(bucketSize), ms(maxQueued)
	floor.AtMost, floor.Inert = queueCeil, expr.InertWithout(queueCeil)
	ceil.Inert = expr.InertWithout(queueFloor)
	bucket.Default = expr.UintValue(defaultBucketMS)
	queued.Default = expr.UintValue(0)
	return []expr.Parameter{
		floor, ceil, bucket, queued, flag(ignoreQueue), flag(ignorePrefill),
		{
			Name: unlockFactor, Type: expr.Number, Default: expr.NumberValue(defaultUnlocking),
			Request: expr.Range{Max: 1}, Static: notNegative,
		},
		{
			Name: choices, Type: expr.Uint, Default: expr.UintValue(2),
			Request: expr.Range{Min: 1, Max: expr.AnyUint.Max}, Static: expr.AnyUint, StaticZero: 1,
		},
	}
}

func sampleCountOf() expr.Parameter {
	return expr.Parameter{
		Name: sampleCount, Type: expr.Uint, Default: expr.UintValue(2),
		Request: expr.Range{Min: 1, Max: maxSamples}, Static: expr.Range{Min: 1, Max: maxSamples},
	}
}

// comparatorOf has no effect on a sample of one.
func comparatorOf(sample string) expr.Parameter {
	return expr.Parameter{
		Name: comparator, Type: expr.Enum, Members: comparatorNames[:comparatorCount], Default: expr.MemberValue(int(TTFT)),
		Inert: expr.InertWhile(sample, 1),
	}
}

func seedOf(inert expr.Inert) expr.Parameter {
	return expr.Parameter{
		Name: seed, Type: expr.String, Default: expr.StringValue(""),
		Static: expr.Range{Max: maxSeedBytes}, Inert: inert,
	}
}

func virtualNodesOf(inert expr.Inert) expr.Parameter {
	return expr.Parameter{
		Name: virtualNodes, Type: expr.Uint, Default: expr.UintValue(defaultVirtualNodes),
		Request: expr.Range{Min: 1, Max: maxVirtualNodes}, Static: expr.Range{Max: maxVirtualNodes},
		StaticZero: 1, Inert: inert,
	}
}

func selectionCountOf(inert expr.Inert) expr.Parameter {
	return expr.Parameter{
		Name: selectionCount, Type: expr.Uint, Default: expr.UintValue(0),
		Request: expr.AnyUint, Static: expr.AnyUint, Inert: inert,
	}
}

func considerKVOf() expr.Parameter {
	return expr.Parameter{
		Name: considerKV, Type: expr.Bool, Default: expr.BoolValue(false), Demands: expr.InputTokens,
	}
}
