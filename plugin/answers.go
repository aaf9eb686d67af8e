// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"

	"github.com/cespare/xxhash/v2"

	"github.com/kvsteer/kvsteer/policy"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// The Responses API lets a request go on from an answer that the engine keeps:
// previous_response_id. Any other engine answers 404. So the id in the first
// bytes of an answer is learnt, as the key of something that the endpoint
// keeps, and the next request goes there whatever the others hold.

const (
	idWindow = 512                // bytes of an answer in which its id is looked for
	idSeed   = 0x726573706f6e7365 // "response": keeps ids apart from what else is hashed
)

// answerKey is the key under which the table has who keeps the answer with this
// id. Conversation keys come from another hash, so the two don't meet.
func answerKey(id []byte) uint64 {
	d := xxhash.NewWithSeed(idSeed)
	d.Write(id[:min(len(id), prefix.MaxID)])
	return d.Sum64()
}

// answerID finds the first "id" in the beginning of an answer, JSON or events.
func answerID(text []byte) []byte {
	_, rest, ok := bytes.Cut(text, []byte(`"id":`))
	if !ok {
		return nil
	}
	rest = bytes.TrimLeft(rest, " ")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	id, _, ok := bytes.Cut(rest[1:], []byte(`"`))
	if !ok {
		return nil
	}
	return id
}

// preferKeeper makes the keeper of the answer that the request goes on from the
// first choice.
func (s *stream) preferKeeper(d *policy.Decision, r *policy.Request) {
	if !s.stored || s.reader == nil {
		return
	}
	id := s.reader.PreviousResponseID()
	if id == nil {
		id = s.reader.ConversationID()
	}
	if id == nil {
		return
	}
	if e := s.pool.Keeper(answerKey(id)); e != nil {
		s.filter.metrics.add(answersFollowed, 1)
		s.pool.Prefer(d, e, r)
	} else {
		s.filter.metrics.add(answersUnknown, 1)
	}
}

// keepAnswer learns the id at the beginning of an answer.
func (s *stream) keepAnswer(size int) {
	if !s.stored || size == 0 {
		return
	}
	s.stored = false
	id := answerID(s.filter.body(responseBody, 0, min(size, idWindow)))
	e := s.flight.Endpoint()
	if id == nil || e == nil {
		return
	}
	key := answerKey(id)
	s.filter.metrics.add(answersKept, 1)
	s.pool.Keep(e, key, s.filter.clock)
	s.filter.exchange.owns(e, key)
}
