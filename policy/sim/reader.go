// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// chunkBytes is how much of a body comes at a time: Envoy's read size.
const chunkBytes = 16 << 10

// awaited counts how much of the bodies had to come before a choice was final.
type awaited struct {
	requests, early int
	share           float64 // sum of the shares of the bodies
}

// reader decides from bodies as they come, as the module does in Envoy.
type reader struct {
	awaited
	scanner prefix.Scanner
	config  prefix.Config
}

// read plays r's body to the pool chunk by chunk; it returns the decision and
// leaves what the whole body shows in p.request.
func (b *reader) read(p *steered, r *Request, now time.Duration) policy.Decision {
	b.scanner.Reset(&b.config, prefix.ShapeOf(r.Path))
	body := r.Body()
	b.requests++
	var d policy.Decision
	final := false
	for at := 0; at < len(body); at += chunkBytes {
		end := min(at+chunkBytes, len(body))
		b.scanner.Write(body[at:end])
		if final || end == len(body) {
			continue
		}
		b.describe(p, len(body), now)
		if d, final = p.pool.Early(nil, &p.request); final {
			b.early++
			b.share += float64(end) / float64(len(body))
		}
	}
	b.scanner.Close()
	b.describe(p, len(body), now)
	p.request.Complete = true
	if !final {
		b.share++
		d = p.pool.Pick(nil, &p.request)
	}
	return d
}

// describe puts what the scanner knows into the pool's form.
func (b *reader) describe(p *steered, raw int, now time.Duration) {
	s := &b.scanner
	tag, marks := s.Tag(), s.Marks()
	seen := prefix.FieldModel | prefix.FieldTools
	p.request = policy.Request{
		Now: now, Hashes: s.Hashes(), Ends: s.Ends(),
		Tag: tag.Hash, TagBytes: tag.Bytes,
		TagKnown: tag.Complete || p.g.Options.TrustTag && tag.Seen&seen == seen,
		Head:     marks.Head, HeadHash: marks.HeadHash, HeadKnown: marks.HeadKnown,
		Prev: marks.Prev, Key: marks.Key, KeyKnown: marks.KeyKnown,
	}
	length := s.Length() + tag.Bytes
	p.request.Length = length
	p.request.LengthKnown = s.Raw() == raw
	if !p.g.Options.Chunked && s.Raw() > 0 {
		p.request.Length = max(length, int(float64(length)/float64(s.Raw())*float64(raw)))
		p.request.LengthKnown = true
	}
}
