// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"

	"github.com/kvsteer/kvsteer/policy"
)

// usageReader looks for the usage in the body of an answer: in JSON it stands
// near the end, in a stream of events in one of the last (Anthropic's in the
// first). Only the last bytes of each chunk are read, and only those of the
// last kilobyte are kept.
type usageReader struct {
	text [usageWindow]byte
	n    int
	sse  bool
}

const (
	usageWindow  = 1 << 10
	usageReaders = 16 // answers that are read at once …
	usageStreams = 4  // … of them streams, which cost a host call for each event
	skipMost     = 64 // streams let pass in a row
)

// add takes the last bytes of a chunk and returns the usage if it is there.
// JSON is looked at when it has ended, events when one has.
func (u *usageReader) add(chunk []byte, end bool) (usage policy.Usage, ok bool) {
	chunk = chunk[max(0, len(chunk)-usageWindow):]
	if over := u.n + len(chunk) - usageWindow; over > 0 {
		u.n = copy(u.text[:], u.text[over:u.n])
	}
	u.n += copy(u.text[u.n:], chunk)
	if !end && !(u.sse && u.n > 0 && u.text[u.n-1] == '\n') {
		return usage, false
	}
	return parseUsage(u.text[:u.n])
}

// parseUsage reads the last usage in a piece of JSON. The names are looked for
// as they stand, quotes and colon included: inside a string a quote is escaped,
// so no text that a model writes can look like one of them.
//
//	OpenAI, vLLM, SGLang   "prompt_tokens":9,…"cached_tokens":8
//	Responses              "input_tokens":9,"input_tokens_details":{"cached_tokens":8}
//	Anthropic              "input_tokens":1,…"cache_read_input_tokens":8: what is cached comes on top
func parseUsage(text []byte) (u policy.Usage, ok bool) {
	prompt, ok := lastNumber(text, `"prompt_tokens":`)
	if !ok {
		prompt, ok = lastNumber(text, `"input_tokens":`)
	}
	u.PromptTokens = prompt
	if n, known := lastNumber(text, `"cached_tokens":`); known {
		u.CachedTokens, u.CachedKnown = n, true
	} else if n, known := lastNumber(text, `"cache_read_input_tokens":`); known {
		created, _ := lastNumber(text, `"cache_creation_input_tokens":`)
		u.CachedTokens, u.CachedKnown = n, true
		u.PromptTokens += n + created
	}
	return u, ok && u.PromptTokens > 0
}

// lastNumber is the number behind the last occurrence of a name.
func lastNumber(text []byte, name string) (n int, ok bool) {
	at := bytes.LastIndex(text, []byte(name))
	if at < 0 {
		return 0, false
	}
	rest := bytes.TrimLeft(text[at+len(name):], " ")
	for _, c := range rest {
		if c < '0' || c > '9' || n > 1<<40 {
			break
		}
		n, ok = n*10+int(c-'0'), true
	}
	return n, ok
}

// usages lends out readers of usage.
type usages struct {
	free    []*usageReader
	lent    int
	streams int // of those lent, the ones for streams
	skip    int // streams to let pass: the last that were read told nothing
	pause   int // what skip was set to last; 0 since a stream has told something
}

// borrow returns a reader, nil if enough are lent.
func (p *usages) borrow(sse bool) *usageReader {
	if p.lent >= usageReaders {
		return nil
	}
	if sse {
		if p.skip > 0 {
			p.skip--
			return nil
		}
		if p.streams >= usageStreams {
			return nil
		}
		p.streams++
	}
	p.lent++
	u := &usageReader{}
	if n := len(p.free); n > 0 {
		u = p.free[n-1]
		p.free = p.free[:n-1]
	}
	u.n, u.sse = 0, sse
	return u
}

// giveBack takes a reader back; told says whether it has found anything. Streams
// tell their usage only where the client asks for it, so after some that don't
// ever fewer are read.
func (p *usages) giveBack(u *usageReader, told bool) {
	p.lent--
	p.free = append(p.free, u)
	if !u.sse {
		return
	}
	p.streams--
	if told {
		p.skip, p.pause = 0, 0
		return
	}
	p.pause = min(2*p.pause+1, skipMost)
	p.skip = p.pause
}
