// SPDX-License-Identifier: Apache-2.0

package prefix

// Tag is what a KV cache depends on besides the prompt's text: model, adapter, salt, tools,
// template arguments. Placements are compared by it; it is not part of the chain.
type Tag struct {
	Hash     uint64 // equal for equal values in any key order; partial until Complete
	Bytes    int    // canonical size of tools and documents, which templates put before the messages
	Complete bool   // the body's object has ended, so no further field can come
	Seen     Fields // which kinds of field have been read
}

// Fields is a set of kinds of tag field.
type Fields uint8

const (
	FieldModel    Fields = 1 << iota // model, adapter
	FieldSalt                        // cache_salt, extra_key
	FieldTools                       // tools, functions, documents
	FieldTemplate                    // template arguments and thinking switches, and what else the prompt depends on
)

// toggle is a switch that a body may leave open.
type toggle uint8

const (
	toggleUnset toggle = iota
	toggleOff
	toggleOn
)

func setIf(on bool) toggle {
	if on {
		return toggleOn
	}
	return toggleOff
}

// maxTokens bounds the integers that are read from a body.
const maxTokens = 1 << 30

// tags holds the fields of the tag, one sum each, so that of a key that comes twice the last counts,
// and the few other values of a body that callers ask for.
type tags struct {
	sums            [tagSlots]uint64
	toolBytes       int
	documentBytes   int
	functionBytes   int
	fieldsSeen      Fields
	stream          toggle
	maxTokens       int
	modelLen        int
	previousLen     int
	conversationLen int
	model           [MaxModel]byte
	previous        [MaxID]byte
	conversation    [MaxID]byte
}

func (t *tags) setTag(s slot, sum uint64, bytes int) {
	t.sums[s] = sum
	switch s {
	case slotTools:
		t.toolBytes = bytes
	case slotFunctions:
		t.functionBytes = bytes
	case slotDocuments:
		t.documentBytes = bytes
	}
	t.fieldsSeen |= s.fields()
}

// clearKept forgets the kept text of a field that comes again.
func (s *Scanner) clearKept() {
	switch keepOf(s.slot) {
	case keepModel:
		s.modelLen = 0
	case keepPrevious:
		s.previousLen = 0
	case keepConversation:
		s.conversationLen = 0
	}
}

// Tag returns the tag as far as it is known.
func (s *Scanner) Tag() Tag {
	t := Tag{Bytes: s.toolBytes + s.functionBytes + s.documentBytes, Complete: s.ended, Seen: s.fieldsSeen}
	for _, sum := range s.sums {
		t.Hash += sum
	}
	return t
}

// Model returns the decoded model name, cut at MaxModel bytes; nil while unknown.
func (s *Scanner) Model() []byte { return kept(s.model[:s.modelLen]) }

// PreviousResponseID returns previous_response_id, cut at MaxID bytes; nil if there is none so far.
func (s *Scanner) PreviousResponseID() []byte { return kept(s.previous[:s.previousLen]) }

// ConversationID returns the id of the Responses conversation, cut at MaxID bytes; nil if there is none so far.
func (s *Scanner) ConversationID() []byte { return kept(s.conversation[:s.conversationLen]) }

func kept(p []byte) []byte {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Stream reports whether the body asks for a streamed answer, as far as it is known. The engines'
// lax spellings "true" and 1 count, and Ollama streams unless it is told not to.
func (s *Scanner) Stream() bool {
	if s.stream == toggleUnset {
		return s.shape == OllamaChat || s.shape == OllamaGenerate
	}
	return s.stream == toggleOn
}

// MaxTokens returns the body's limit of output tokens, 0 if it gave none so far.
func (s *Scanner) MaxTokens() int { return s.maxTokens }
