// SPDX-License-Identifier: Apache-2.0

package prefix

import "slices"

// progress is how far a part of the prompt has come.
type progress uint8

const (
	missing progress = iota
	open
	done
)

// segments are the two chains of a body: the system prompt outside the messages, where the shape has
// one, and the messages. In the order of the prompt the system prompt comes first; in JSON it may
// come behind. Each chain is hashed by itself, so that the hashes do not depend on that.
type segments struct {
	prompt, system progress
	late           bool // the system prompt being read comes behind the messages
	ended          bool // the body's object has ended
	base           int  // canonical offset at which the running chain begins
	lateStart      int  // blocks in front of those of a late system prompt
	messages       int  // messages in the prompt so far
	promptBytes    int  // length of the messages, when done
	systemBytes    int  // length of the system prompt, when done
	systemHash     uint64
}

const (
	seedPrompt = "kvsteer/prefix/" + Version + "/prompt"
	seedSystem = "kvsteer/prefix/" + Version + "/system"
)

var (
	systemRole    = hashString(0, "system")
	userRole      = hashString(0, "user")
	assistantRole = hashString(0, "assistant")
)

// beginPrompt begins the chain of the messages.
func (s *Scanner) beginPrompt() {
	if s.prompt != missing {
		s.fail(ReasonDuplicate)
		return
	}
	s.prompt = open
	s.base = s.systemBytes
	s.headOpen = true
	s.c.begin(hashString(s.config.Seed, seedPrompt), s.config.MaxBytes)
}

// beginStringPrompt begins a prompt that is a bare string.
func (s *Scanner) beginStringPrompt() {
	if takesList(s.shape) {
		s.fail(ReasonBadPrompt)
		return
	}
	s.beginPrompt()
	s.sink = sinkStream
	if s.shape == Responses {
		s.openMessage(false)
		s.setRole([]byte("user"), 0)
		return
	}
	s.openMessage(true)
}

func (s *Scanner) endPrompt() {
	s.prompt = done
	s.promptBytes = s.c.pos
	s.headOpen = false
	s.c.pos, s.base = 0, 0
}

// beginSystem begins the chain of a system prompt outside the messages, as a message of its own.
func (s *Scanner) beginSystem() {
	if s.system != missing {
		s.fail(ReasonDuplicate)
		return
	}
	s.system = open
	s.late = s.prompt == done
	s.lateStart = s.n
	s.c.begin(hashString(s.config.Seed, seedSystem), min(maxSystem, s.config.MaxBytes))
	s.message = message{}
	s.kind = kindSystem
	s.setRoleHash(systemRole)
}

func (s *Scanner) endSystem() {
	s.closeMessage()
	s.systemHash = mix(s.c.hash(), systemRole)
	s.systemBytes = s.c.pos
	s.c.pos = 0
	s.system = done
	if s.late {
		s.late = false
		s.moveSystem()
	}
}

// moveSystem brings the blocks of a late system prompt in front of those of the messages, and leaves
// out what lies behind MaxBytes then.
func (s *Scanner) moveSystem() {
	k, n := s.lateStart, s.n
	rotate(s.hashes[:n], k)
	rotate(s.ends[:n], k)
	for i := n - k; i < n; i++ {
		s.ends[i] += uint32(s.systemBytes)
	}
	for s.n > n-k && int(s.ends[s.n-1]) > s.config.MaxBytes {
		s.n--
	}
	s.published = s.n
}

// rotate moves the first k elements behind the others, in place.
func rotate[T any](a []T, k int) {
	slices.Reverse(a[:k])
	slices.Reverse(a[k:])
	slices.Reverse(a)
}

// pendingBytes returns what the open message will add to the offset when it ends.
func (s *Scanner) pendingBytes() int {
	n := s.fieldBytes + s.partBytes
	if s.fieldFloor > 0 && (s.nodes[s.fieldFloor-1] == nodeMessage || s.nodes[s.fieldFloor-1] == nodePart) {
		n += s.fieldWeight()
	}
	return n
}
