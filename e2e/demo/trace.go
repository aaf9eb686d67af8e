// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"
)

// What is taken of a trace, and on what it runs. The published traces were
// made for more engines than the demo has, so these are twice as fast as the
// default and have twice the cache of an engine in the simulator's evidence.
const (
	traceStretch  = 10 * time.Minute
	traceRequests = 2500
	traceSeed     = 1
	traceBlock    = 512 * 4 // bytes of a block: 512 tokens
)

// traceLine is a request of Mooncake's format: equal block ids mean equal text
// up to and including the block.
type traceLine struct {
	Timestamp int64    `json:"timestamp"` // ms
	Input     int      `json:"input_length"`
	Output    int      `json:"output_length"`
	Blocks    []uint64 `json:"hash_ids"`
}

// trace reads the beginning of a Mooncake trace. Requests are plain prompts:
// the trace tells no roles.
func trace(name string, in io.Reader) (*workload, error) {
	lines, err := traceLines(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	spread(lines)
	w := &workload{
		title: filepath.Base(name),
		about: []string{
			fmt.Sprintf("The first %d requests (%s) of the trace, each a plain prompt of its block ids.",
				len(lines), time.Duration(lines[len(lines)-1].Timestamp)*time.Millisecond),
			"Arrivals are spread evenly at random inside each group of equal timestamps.",
		},
		engine: engineSize{cacheTokens: 1_000_000, blockTokens: 64, prefillRate: 16_000, decodeRate: 40},
		scale:  20,
	}
	for _, l := range lines {
		w.sessions = append(w.sessions, l.session())
	}
	return w, nil
}

func traceLines(in io.Reader) ([]traceLine, error) {
	var lines []traceLine
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() && len(lines) < traceRequests {
		var l traceLine
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		if time.Duration(l.Timestamp)*time.Millisecond > traceStretch {
			break
		}
		lines = append(lines, l)
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, errors.New("no requests in the trace")
	}
	return lines, nil
}

// spread moves each request of a group with equal timestamps to a random time
// before the next group.
func spread(lines []traceLine) {
	random := rand.New(rand.NewPCG(traceSeed, 0))
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].Timestamp == lines[from].Timestamp {
			to++
		}
		if to < len(lines) {
			gap := lines[to].Timestamp - lines[from].Timestamp
			for i := from; i < to; i++ {
				lines[i].Timestamp += random.Int64N(gap)
			}
		}
		from = to
	}
}

func (l *traceLine) session() session {
	var text bytes.Buffer
	for _, id := range l.Blocks {
		text.Write(blockText(id))
	}
	text.Truncate(min(text.Len(), l.Input*4))
	return session{
		start:   time.Duration(l.Timestamp) * time.Millisecond,
		path:    "/v1/completions",
		opening: `{"model":"sim","prompt":"`,
		closing: `","stream":true,"max_tokens":`,
		stream:  true,
		turns:   []turn{{text: text.String(), maxTokens: max(1, l.Output)}},
	}
}

// blockText returns a block's text, made from its id alone.
func blockText(id uint64) []byte {
	random := rand.New(rand.NewPCG(traceSeed, id))
	text := fmt.Appendf(nil, "block %d ", id)
	for len(text) < traceBlock {
		text = append(append(text, word(random)...), ' ')
	}
	return text[:traceBlock]
}
