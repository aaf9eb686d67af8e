// SPDX-License-Identifier: Apache-2.0

package prefix

// Config says how prompts are hashed. The zero Config is usable.
type Config struct {
	Seed        uint64 // first link of the chain; what differs here shares no hash
	MaxBytes    int    // canonical bytes to hash; 0 and whatever exceeds MaxHashed mean MaxHashed
	KeepBilling bool   // hash the billing line that Claude Code puts in front of its system prompt
}

// Limits of one Scanner; all of its memory is inside the struct.
const (
	MaxHashed      = 1 << 20 // canonical bytes hashed at most
	MaxModel       = 256     // bytes of a model name that are kept; the tag covers all of it
	MaxID          = 128     // bytes of a response or conversation id that are kept
	MaxDepth       = 1024    // levels of JSON nesting in values that are skipped
	MaxHashedDepth = 64      // levels of JSON nesting inside a hashed value (tools, tool calls)
)

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

// Marks are places in the canonical stream that algorithms use. Lengths are in canonical bytes from
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

// Scanner fingerprints one request body that comes in pieces. The zero Scanner must be Reset before
// use. It is not safe for concurrent use, holds no pointer into what it was given, and never
// allocates.
type Scanner struct {
	shape  Shape
	reason Reason
	raw    int
}

// Reset makes the scanner ready for a body of the given shape. The Config is copied.
func (s *Scanner) Reset(c *Config, shape Shape) { *s = Scanner{shape: shape} }

// Write scans the next bytes of the body. It never fails: what cannot be fingerprinted sets the
// Reason. Cost is proportional to len(p), however the body is cut.
func (s *Scanner) Write(p []byte) { s.raw += len(p) }

// Close says that the body has ended. Only then is it known that nothing is missing.
func (s *Scanner) Close() {}

// Reason returns why the body has no fingerprint, ReasonNone while it has one.
func (s *Scanner) Reason() Reason { return s.reason }

// Hashes returns the block hashes so far, in the order of the prompt. Valid until Write, Close or Reset.
func (s *Scanner) Hashes() []uint64 { return nil }

// Ends returns the canonical end offset of each block; len(Ends()) == len(Hashes()).
func (s *Scanner) Ends() []uint32 { return nil }

// Length returns the canonical bytes so far, tools not included (they are in Tag().Bytes).
func (s *Scanner) Length() int { return 0 }

// Raw returns the bytes given to Write since Reset.
func (s *Scanner) Raw() int { return s.raw }

// Tag returns the tag as far as it is known.
func (s *Scanner) Tag() Tag { return Tag{} }

// Marks returns the marks as far as they are known.
func (s *Scanner) Marks() Marks { return Marks{} }

// Model returns the decoded model name, cut at MaxModel bytes; nil while unknown.
func (s *Scanner) Model() []byte { return nil }

// Stream reports whether the body asks for a streamed answer ("stream": true).
func (s *Scanner) Stream() bool { return false }

// MaxTokens returns the body's limit of output tokens, 0 if it gave none so far.
func (s *Scanner) MaxTokens() int { return 0 }

// PreviousResponseID returns previous_response_id, cut at MaxID bytes; nil if there is none so far.
func (s *Scanner) PreviousResponseID() []byte { return nil }

// ConversationID returns the id of the Responses conversation, cut at MaxID bytes; nil if there is none so far.
func (s *Scanner) ConversationID() []byte { return nil }
