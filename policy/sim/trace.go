// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
)

// BlockTokens is the size of a trace's block.
const BlockTokens = 512

// Request is one line of a trace, and what its structure shows.
type Request struct {
	At     float64 // seconds since the start of the trace
	Input  int     // tokens of the prompt
	Output int     // tokens of the answer
	Blocks []int   // prefix blocks; the last may be partial

	Head int // blocks of the head: what several conversations begin with
	Prev int // blocks that an earlier turn has shown
	Key  int // number of the block that stands for the conversation

	Path string        // where the body is known: what it was sent to …
	Body func() []byte // … and itself; the scanner then finds hashes and structure
}

// Trace is a named list of requests by ascending arrival.
type Trace struct {
	Name     string
	Requests []Request
}

// Scale returns the trace with speed times its arrival rate.
func (t Trace) Scale(speed float64) Trace {
	out := Trace{Name: t.Name, Requests: slices.Clone(t.Requests)}
	for i := range out.Requests {
		out.Requests[i].At /= speed
	}
	return out
}

// line is the Mooncake format: one JSON object a line.
type line struct {
	Timestamp    float64 `json:"timestamp"` // ms
	InputLength  int     `json:"input_length"`
	OutputLength int     `json:"output_length"`
	HashIDs      []int   `json:"hash_ids"`
}

// ReadMooncake reads a trace of JSON lines. Arrivals with one timestamp are
// spread at random up to the next timestamp. The conversation is told by the
// second block: the first is a prompt that most requests of the public traces
// share. Head and Prev are derived; see infer.
func ReadMooncake(name string, r io.Reader, seed uint64) (Trace, error) {
	t := Trace{Name: name}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return Trace{}, fmt.Errorf("sim: line %d: %w", len(t.Requests)+1, err)
		}
		t.Requests = append(t.Requests, Request{
			At: l.Timestamp / 1000, Input: l.InputLength, Output: l.OutputLength, Blocks: l.HashIDs,
		})
	}
	if err := lines.Err(); err != nil {
		return Trace{}, fmt.Errorf("sim: %w", err)
	}
	spread(t.Requests, rand.New(rand.NewPCG(seed, 1)))
	infer(t.Requests, conversationBlock)
	return t, nil
}

// conversationBlock is the block that tells conversations of the public traces
// apart, from 0.
const conversationBlock = 1

// spread moves each group of equal arrivals to random times before the next
// group; the last group takes the width of the one before.
func spread(rs []Request, random *rand.Rand) {
	slices.SortStableFunc(rs, byArrival)
	width := 0.0
	for i := 0; i < len(rs); {
		j := i
		for j < len(rs) && rs[j].At == rs[i].At {
			j++
		}
		if j < len(rs) {
			width = rs[j].At - rs[i].At
		}
		if j == i+1 {
			width = 0
		}
		for ; i < j; i++ {
			rs[i].At += random.Float64() * width
		}
	}
	slices.SortStableFunc(rs, byArrival)
}

func byArrival(a, b Request) int {
	switch {
	case a.At < b.At:
		return -1
	case a.At > b.At:
		return 1
	}
	return 0
}

// minContinuations is how many different blocks must have followed a prefix
// for it to be taken as the head of several conversations.
const minContinuations = 3

// infer derives for each request what the structure of a body would show. The
// head ends at the deepest block, before the one that tells conversations
// apart, after which at least minContinuations different blocks were seen; prev
// is the longest prefix that any earlier request had, if it is longer than the
// head of the public traces (two blocks).
func infer(rs []Request, keyBlock int) {
	next := map[int][]int{} // by block: up to minContinuations different next blocks
	for i := range rs {
		r := &rs[i]
		r.Key = r.Blocks[min(keyBlock, len(r.Blocks)-1)]
		for k, b := range r.Blocks {
			seen, known := next[b]
			if !known {
				break
			}
			if k+1 > conversationBlock+1 {
				r.Prev = k + 1
			}
			if len(seen) >= minContinuations && k < keyBlock {
				r.Head = k + 1
			}
		}
		for k, b := range r.Blocks {
			seen := next[b]
			if k+1 < len(r.Blocks) && len(seen) < minContinuations && !slices.Contains(seen, r.Blocks[k+1]) {
				seen = append(seen, r.Blocks[k+1])
			}
			next[b] = seen
		}
	}
}

// HeadLoad says how many system prompts share an engine pool.
type HeadLoad struct {
	Heads   int     // different heads
	Rate    float64 // requests/s, Poisson; 0 = by the number of heads
	Seconds float64 // 0 = 600
	Seed    uint64
}

const (
	headBlocks     = 12  // blocks of a head, behind one that all share
	headOutput     = 200 // tokens of an answer
	headOwn        = 1   // blocks of a request's own …
	headOwnSingle  = 4   // … and where there is a single head
	defaultSeconds = 600.0
)

// rateOf is the arrival rate of a head load: what eight engines can serve.
func rateOf(heads int) float64 {
	switch {
	case heads <= 1:
		return 8
	case heads <= 150:
		return 12
	}
	return 10
}

// Generate makes the trace: each request takes one head at random, one block
// that all share before it, and blocks of its own behind it.
func (h HeadLoad) Generate() Trace {
	if h.Rate == 0 {
		h.Rate = rateOf(h.Heads)
	}
	if h.Seconds == 0 {
		h.Seconds = defaultSeconds
	}
	own := headOwn
	if h.Heads == 1 {
		own = headOwnSingle
	}
	random := rand.New(rand.NewPCG(h.Seed, 2))
	t := Trace{Name: fmt.Sprintf("%d heads", h.Heads)}
	fresh := 1 + h.Heads*headBlocks
	for at := 0.0; ; {
		at += -math.Log(1-random.Float64()) / h.Rate
		if at >= h.Seconds {
			break
		}
		head := random.IntN(h.Heads)
		r := Request{At: at, Output: headOutput, Blocks: []int{0}}
		for k := range headBlocks {
			r.Blocks = append(r.Blocks, 1+head*headBlocks+k)
		}
		for range own {
			r.Blocks = append(r.Blocks, fresh)
			fresh++
		}
		r.Input = len(r.Blocks) * BlockTokens
		r.Head = 1 + headBlocks
		r.Key = r.Blocks[r.Head]
		t.Requests = append(t.Requests, r)
	}
	return t
}
