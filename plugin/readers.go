// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// reader is what a stream needs while its body is read and until its
// placement is learnt.
type reader struct {
	prefix.Scanner
	request policy.Request // what the scanner has found, in the terms of a pick
	tried   int            // blocks there were when a choice was last tried
	ended   bool           // the body is complete
}

// end tells that the body is complete.
func (r *reader) end() {
	if !r.ended {
		r.ended = true
		r.Close()
	}
}

// grown reports whether a block has been completed since the last call.
func (r *reader) grown() bool {
	n := len(r.Hashes())
	grown := n > r.tried
	r.tried = n
	return grown
}

// ask returns what is known of the request. Its length is what has been
// scanned and, of a body whose content-length is known, the rest at the ratio
// of canonical to raw bytes seen so far. length is -1 for a chunked body.
func (r *reader) ask(length int, now time.Duration) *policy.Request {
	tag, marks := r.Tag(), r.Marks()
	q := &r.request
	*q = policy.Request{
		Now:    now,
		Hashes: r.Hashes(), Ends: r.Ends(),
		Tag: tag.Hash, TagBytes: tag.Bytes, TagKnown: tag.Complete || r.ended,
		Length:   r.Length() + tag.Bytes,
		Complete: r.ended, LengthKnown: r.ended,
		Head: marks.Head, HeadHash: marks.HeadHash, HeadKnown: marks.HeadKnown,
		Prev: marks.Prev,
		Key:  marks.Key, KeyKnown: marks.KeyKnown,
	}
	if rest := length - r.Raw(); rest > 0 && !r.ended {
		q.Length += int(float64(rest) * r.ratio())
		q.LengthKnown = true
	}
	return q
}

// ratio is canonical bytes per raw byte so far, 1 before there is any.
func (r *reader) ratio() float64 {
	if r.Raw() == 0 {
		return 1
	}
	return float64(r.Length()+r.Tag().Bytes) / float64(r.Raw())
}

// readers lends readers out. Their number is bounded, so that clients that
// open many requests and never end them cannot grow the VM.
type readers struct {
	free []*reader
	lent int
}

// borrow returns a reader that is reset for a body of the given shape, nil if
// limit are lent already.
func (p *readers) borrow(limit int, c *prefix.Config, shape prefix.Shape) *reader {
	if p.lent >= limit {
		return nil
	}
	p.lent++
	var r *reader
	if n := len(p.free); n > 0 {
		r = p.free[n-1]
		p.free = p.free[:n-1]
	} else {
		r = &reader{}
	}
	r.tried, r.ended = 0, false
	r.Reset(c, shape)
	return r
}

// giveBack takes a reader back; nil is no reader.
func (p *readers) giveBack(r *reader) {
	if r != nil {
		p.lent--
		p.free = append(p.free, r)
	}
}
