// SPDX-License-Identifier: Apache-2.0

package prefix

import "bytes"

// Framing of the canonical stream. 0xFF is in no UTF-8 text, so content cannot forge it.
const (
	frameMark    = 0xff
	frameMessage = 'M' // end of a message: role and fields follow
	framePart    = 'P' // between two parts
	frameFields  = 'F' // end of a part that has fields: they follow
	frameTokens  = 'T' // token ids follow
	frameList    = 'L' // end of a list inside the prompt
)

const (
	roleBytes  = 16   // canonical bytes for a template's markers around a message with a role
	mediaBytes = 1024 // canonical bytes for an image, a recording, a file
)

var tokenEnd = []byte{','}

// billing is how the system block of Claude Code begins that changes with every request.
const billing = "x-anthropic-billing-header:"

// kind groups roles as far as marks need it.
type kind uint8

const (
	kindOther kind = iota
	kindSystem
	kindUser
	kindAssistant
)

// message is the open message and its open part.
type message struct {
	role        uint64 // hash of the role, 0 for none
	roleKnown   bool
	kind        kind
	plainPrompt bool   // a message without a role, by its form
	tokens      bool   // a run of token ids is open
	seen        uint64 // keys read, as bits
	fields      uint64 // sum of the fields
	fieldBytes  int

	parts      int // parts so far
	partSeen   uint64
	partFields uint64
	partBytes  int
	matched    int  // bytes of billing at the start of the text
	dropped    bool // the part is the billing line
}

// openMessage begins a message; plain is one that is given as bare text or token ids. What is in
// message is zero, as closeMessage leaves it.
func (s *Scanner) openMessage(plain bool) {
	if plain {
		s.plainPrompt, s.headOpen = true, false
		s.setRoleHash(0)
	}
}

func (s *Scanner) messageKey(key []byte) {
	t, slot, bit := messageKey(s.shape, key)
	s.target, s.slot = t, slot
	if t != targetSkip && s.seen&bit != 0 {
		s.fail(ReasonDuplicate)
	}
	s.seen |= bit
}

func (s *Scanner) partKey(key []byte) {
	t, slot, bit := partKey(key)
	s.target, s.slot = t, slot
	if t != targetSkip && s.partSeen&bit != 0 {
		s.fail(ReasonDuplicate)
	}
	s.partSeen |= bit
}

// setRole takes the role of a message. hash is that of name, or 0 if it has not been made: those of the
// usual roles are at hand.
func (s *Scanner) setRole(name []byte, hash uint64) {
	switch string(name) {
	case "user":
		s.kind, hash = kindUser, userRole
	case "assistant":
		s.kind, hash = kindAssistant, assistantRole
	case "system":
		s.kind, hash = kindSystem, systemRole
	case "developer":
		s.kind = kindSystem
	default:
		s.kind = kindOther
	}
	if hash == 0 {
		hash = hashBytes(0, name)
	}
	if s.kind != kindSystem {
		s.headOpen = false
	}
	s.setRoleHash(hash)
}

// setRoleHash gives the blocks that ended inside the message their final hash.
func (s *Scanner) setRoleHash(hash uint64) {
	s.role, s.roleKnown = hash, true
	if s.late {
		return
	}
	for i := s.published; i < s.n; i++ {
		s.hashes[i] = mix(s.hashes[i], hash)
	}
	s.published = s.n
}

// setType takes the type of a part or an item. Text parts and plain messages are what they are
// without it.
func (s *Scanner) setType(name []byte) {
	switch string(name) {
	case "text", "input_text", "output_text", "message":
		return
	}
	s.beginField()
	s.leaf(leafString, s.text64.sum(), 0)
	if s.node == nodeMessage && !s.roleKnown && (bytes.HasSuffix(name, []byte("_call")) || string(name) == "reasoning") {
		s.kind = kindAssistant
	}
	s.endField()
}

// closeMessage ends the message: role and fields go into the stream, and its end is a boundary if
// the budget allows.
func (s *Scanner) closeMessage() {
	if !s.roleKnown {
		s.headOpen = false
		s.setRoleHash(0)
	}
	weight := s.fieldBytes
	if s.role != 0 {
		weight += roleBytes
	}
	s.fieldBytes = 0
	s.frame(frameMessage, weight, s.role, s.fields)
	if s.c.wantsEnd() {
		s.c.endings++
		s.closeBlock()
	}
	if s.system != open {
		s.setMarks()
		s.messages++
	}
	s.message = message{}
}

// openPart begins a part of a content.
func (s *Scanner) openPart() {
	if s.parts > 0 {
		s.frame(framePart, 1)
	}
	s.parts++
	s.partSeen, s.partFields, s.partBytes = 0, 0, 0
}

// closePart ends a part. One that is only text leaves no trace but the text, so that a content that
// is a string and a content of one text part are the same.
func (s *Scanner) closePart() {
	if s.dropped {
		s.parts, s.dropped = 0, false
	}
	if s.partFields != 0 {
		weight := s.partBytes
		s.partBytes = 0
		s.frame(frameFields, weight, s.partFields)
	}
	s.partFields, s.partBytes = 0, 0
}

// beginPartText begins the text of a part, or a content that is text.
func (s *Scanner) beginPartText() {
	s.sink = sinkStream
	if s.system == open && s.shape == Messages && s.parts <= 1 && s.c.pos == 0 && !s.config.KeepBilling {
		s.sink, s.matched = sinkBilling, 0
	}
}

// matchBilling compares text with the start of the billing line. The line is dropped; anything else
// goes into the stream.
func (s *Scanner) matchBilling(p []byte) {
	for i, c := range p {
		if c != billing[s.matched] {
			s.releaseBilling()
			s.put(p[i:])
			return
		}
		s.matched++
		if s.matched == len(billing) {
			s.sink, s.dropped = sinkNone, true
			return
		}
	}
}

// releaseBilling writes the text that has begun like a billing line and is none.
func (s *Scanner) releaseBilling() {
	var b [len(billing)]byte
	copy(b[:], billing)
	s.sink = sinkStream
	s.put(b[:s.matched])
}

// endPartText ends the text of a part.
func (s *Scanner) endPartText() {
	if s.sink == sinkBilling {
		s.releaseBilling()
	}
	s.sink = sinkNone
}

// beginToken begins a token id: the decimal digits go into the stream, with a comma behind each.
func (s *Scanner) beginToken() {
	if !s.tokens {
		s.openMessage(true)
		s.tokens = true
		s.frame(frameTokens, 0)
	}
	s.sink = sinkStream
}

// tokenIDs takes the token ids that p begins with, as far as each has its comma right behind it: then
// they are in p as they are in the stream.
func (s *Scanner) tokenIDs(p []byte) int {
	taken := 0
	for i := 0; i < len(p); i++ {
		if p[i]-'0' <= 9 {
			continue
		}
		zero := p[taken] == '0' && i > taken+1
		if p[i] != ',' || i == taken || zero {
			break
		}
		taken = i + 1
	}
	if taken > 0 {
		s.beginToken()
		s.put(p[:taken])
		s.state = atValue
	}
	return taken
}

// endTokens ends a run of token ids, which is a message.
func (s *Scanner) endTokens() {
	if s.tokens {
		s.closeMessage()
	}
}

// closeList ends the prompt or a list inside it.
func (s *Scanner) closeList() {
	s.endTokens()
	s.lists--
	if s.lists == 0 {
		s.endPrompt()
		return
	}
	s.frame(frameList, 0)
}
