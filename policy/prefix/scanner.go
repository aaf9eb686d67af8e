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
	MaxID          = 96      // bytes of a response or conversation id that are kept; the tag covers all of it
	MaxDepth       = 1024    // levels of JSON nesting
	MaxHashedDepth = 48      // levels of JSON nesting inside a hashed value (tools, tool calls)

	// keyBytes is where a plain prompt, one without roles, has its conversation key.
	keyBytes = 4 << 10
)

// Scanner fingerprints one request body that comes in pieces. The zero Scanner must be Reset before
// use. It is not safe for concurrent use, holds no pointer into what it was given, and never
// allocates.
type Scanner struct {
	config Config
	shape  Shape
	reason Reason
	raw    int
	tap    *[]byte

	lexer
	value
	message
	field
	tags
	segments
	marks

	c         chain
	n         int // blocks in hashes and ends
	published int // of these, how many have their final hash
	hashes    [maxBlocks]uint64
	ends      [maxBlocks]uint32
}

// Reset makes the scanner ready for a body of the given shape. The Config is copied.
func (s *Scanner) Reset(c *Config, shape Shape) {
	// The two arrays are not cleared: n bounds what is read of them.
	s.config, s.shape, s.reason, s.raw, s.tap = *c, shape, ReasonNone, 0, nil
	if s.config.MaxBytes <= 0 || s.config.MaxBytes > MaxHashed {
		s.config.MaxBytes = MaxHashed
	}
	s.lexer.reset()
	s.value = value{target: targetRoot}
	s.message, s.tags, s.segments, s.marks = message{}, tags{}, segments{}, marks{}
	s.field.reset()
	s.c = chain{}
	s.n, s.published = 0, 0
	if shape == 0 || shape >= shapes {
		s.reason = ReasonShape
	}
}

// Write scans the next bytes of the body. It never fails: what cannot be fingerprinted sets the
// Reason. Cost is proportional to len(p), however the body is cut.
func (s *Scanner) Write(p []byte) {
	s.raw += len(p)
	for len(p) > 0 && s.reason == ReasonNone {
		p = p[s.lex(p):]
	}
}

// Close says that the body has ended. Only then is it known that nothing is missing.
func (s *Scanner) Close() {
	switch {
	case s.reason != ReasonNone:
	case s.state == atStart, s.state == atValue && s.depth == 0:
		s.fail(ReasonEmpty)
	case s.state != atEnd:
		s.fail(ReasonTruncated)
	case s.prompt != done || s.messages == 0:
		s.fail(ReasonNoPrompt)
	}
}

// fail records the first reason; it ends the scan.
func (s *Scanner) fail(r Reason) {
	if s.reason == ReasonNone {
		s.reason = r
	}
}

// Reason returns why the body has no fingerprint, ReasonNone while it has one.
func (s *Scanner) Reason() Reason { return s.reason }

// Hashes returns the block hashes so far, in the order of the prompt. It only grows at its end, with
// one exception: a system prompt that comes behind the messages (Messages, Responses,
// OllamaGenerate, Rerank) puts its blocks in front when it ends, and shifts the others' Ends. Valid
// until the next call of Write or Reset.
func (s *Scanner) Hashes() []uint64 { return s.hashes[:s.published] }

// Ends returns the canonical end offset of each block, ascending; len(Ends()) == len(Hashes()).
func (s *Scanner) Ends() []uint32 { return s.ends[:s.published] }

// Length returns the canonical bytes so far, tools not included (they are in Tag().Bytes).
// It goes on behind the last hashed byte.
func (s *Scanner) Length() int {
	return s.systemBytes + s.promptBytes + s.c.pos + s.pendingBytes()
}

// Raw returns the bytes given to Write since Reset.
func (s *Scanner) Raw() int { return s.raw }

// Tap makes the scanner append the canonical stream, as it is hashed and with its framing, to dst.
// It is for tools that show the stream; Reset ends it.
func (s *Scanner) Tap(dst *[]byte) { s.tap = dst }
