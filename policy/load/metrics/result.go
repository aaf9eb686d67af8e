// SPDX-License-Identifier: Apache-2.0

package metrics

// Field is one number of a Result. In configuration a field's words are in lower case with
// underscores between them: MaxRunning is max_running, KVUse is kv_use.
type Field uint8

// The fields. Requests and tokens are counts, ratios lie in [0, 1].
const (
	Waiting          Field = iota // requests that wait for their first place in a batch
	Running                       // requests in batches
	MaxRunning                    // requests that fit into batches
	KVUse                         // ratio of the KV cache in use
	KVUsed                        // tokens in the KV cache
	KVTokens                      // tokens that fit into the KV cache
	PromptTokens                  // counter: prompt tokens taken, cached ones included
	GenerationTokens              // counter: tokens generated
	PrefixQueries                 // counter: prompt tokens looked up in the prefix cache
	PrefixHits                    // counter: prompt tokens found in the prefix cache
	HitRate                       // ratio of prompt tokens found in the prefix cache, over the engine's own window
	StartTime                     // seconds since 1970 at which the server's process began
	Adapters                      // not a number: the LoRA adapters of running requests

	kvBlocks
	kvBlocksUsed
	kvBlockSize
	fieldCount
)

var fieldNames = [...]string{
	"waiting", "running", "max_running", "kv_use", "kv_used", "kv_tokens", "prompt_tokens",
	"generation_tokens", "prefix_queries", "prefix_hits", "hit_rate", "start_time", "adapters",
}

// String returns the field's name in configuration.
func (f Field) String() string {
	if int(f) < len(fieldNames) {
		return fieldNames[f]
	}
	return "unknown"
}

// ParseField returns the field of that name.
func ParseField(name string) (f Field, ok bool) {
	for i, n := range fieldNames {
		if n == name {
			return Field(i), true
		}
	}
	return 0, false
}

// ratio reports whether f lies in [0, 1].
func (f Field) ratio() bool {
	return f == KVUse || f == HitRate
}

// usualRule is how series of f become one number where the table says nothing else.
func (f Field) usualRule() rule {
	switch {
	case f.ratio():
		return mean
	case f == StartTime:
		return largest
	}
	return sum
}

// Result is what a page says of its engine. What the page does not show is 0 and not known.
type Result struct {
	Engine Engine
	known  uint32 // a bit for each Field
	fields [fieldCount]float64

	// Running LoRA adapters, separated by commas, cut at MaxAdapters bytes; valid until the
	// parser's next Reset. MaxAdapters is how many the engine can hold.
	Adapters    []byte
	MaxAdapters float64

	Lines    int // lines of the page, comments included
	Unusable int // samples of known metrics that are malformed, negative, NaN or infinite
	Overlong int // lines longer than MaxLine
	Dropped  int // samples beyond MaxSeries
}

// Value returns a field, and whether the page showed it.
func (r *Result) Value(f Field) (v float64, known bool) {
	if f >= fieldCount || r.known&(1<<f) == 0 {
		return 0, false
	}
	return r.fields[f], true
}

// Known reports whether the page showed f.
func (r *Result) Known(f Field) bool {
	return f < fieldCount && r.known&(1<<f) != 0
}

func (r *Result) set(f Field, v float64) {
	r.fields[f] = v
	r.known |= 1 << f
}

// derive fills in what follows from block counts.
func (r *Result) derive() {
	blocks, size := r.fields[kvBlocks], r.fields[kvBlockSize]
	if blocks <= 0 {
		return
	}
	if size > 0 && !r.Known(KVTokens) {
		r.set(KVTokens, blocks*size)
	}
	if !r.Known(kvBlocksUsed) {
		return
	}
	if !r.Known(KVUse) {
		r.set(KVUse, min(1, r.fields[kvBlocksUsed]/blocks))
	}
	if size > 0 && !r.Known(KVUsed) {
		r.set(KVUsed, r.fields[kvBlocksUsed]*size)
	}
}
