// SPDX-License-Identifier: Apache-2.0

package prefix

// Marks are places in the canonical stream that algorithms use. Offsets are in canonical bytes from
// the stream's start.
type Marks struct {
	Head      int    // end of the leading system messages; 0 if there are none
	HeadHash  uint64 // hash of the head; 0 if there is none
	HeadKnown bool
	Key       uint64 // conversation key
	KeyKnown  bool
	Prev      int  // end of the last assistant turn so far; 0 if there is none
	PrevKnown bool // the prompt has ended: Prev is final
}

// marks are the marks of the messages, with offsets in their own chain.
type marks struct {
	headOpen  bool // only leading system messages so far
	head      int
	headHash  uint64
	key       uint64
	keyKnown  bool
	firstHash uint64 // at the end of the first message
	prev      int
}

// setMarks records what the end of a message means. The hash is made only where it is asked for.
func (s *Scanner) setMarks() {
	if s.messages == 0 {
		s.firstHash = s.mark()
	}
	switch {
	case s.kind == kindSystem && s.headOpen:
		s.head, s.headHash = s.c.pos, s.mark()
	case s.kind == kindAssistant:
		s.prev = s.c.pos
	case !s.keyKnown && (s.kind == kindUser || s.plainPrompt):
		s.key, s.keyKnown = s.mark(), true
	}
}

// Marks returns the marks as far as they are known.
func (s *Scanner) Marks() Marks {
	m := Marks{
		Head:      s.systemBytes + s.head,
		HeadHash:  s.headHash,
		HeadKnown: s.headKnown(),
		Key:       s.key,
		KeyKnown:  s.keyKnown,
		PrevKnown: s.prompt == done,
	}
	switch {
	case s.system != done:
	case s.head == 0:
		m.HeadHash = s.systemHash
	default:
		m.HeadHash = mix(s.systemHash, s.headHash)
	}
	if s.prev > 0 {
		m.Prev = s.systemBytes + s.prev
	}
	if !s.keyKnown && s.prompt == done && s.messages > 0 {
		m.Key, m.KeyKnown = s.firstHash, true
		if s.head > 0 {
			m.Key = s.headHash
		}
	}
	return m
}

// headKnown reports whether no more of the head can come.
func (s *Scanner) headKnown() bool {
	if s.prompt == missing || s.headOpen {
		return false
	}
	return s.system == done || s.ended || !hasSystem(s.shape)
}
