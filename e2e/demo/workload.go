// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"time"
)

// A workload is what is replayed: the same requests for every balancer. All
// times are simulated ones.
type workload struct {
	title    string
	about    []string // one sentence each
	sessions []session
	engine   engineSize
	scale    float64 // simulated seconds per real second
}

// engineSize is what each of the simulated engines has.
type engineSize struct {
	cacheTokens int
	blockTokens int
	prefillRate float64
	decodeRate  float64
}

func (w *workload) requests() int {
	n := 0
	for i := range w.sessions {
		n += len(w.sessions[i].turns)
	}
	return n
}

// A session is one client: each request follows the answer to the one before
// and repeats all of it, as chat clients do. A body is
//
//	opening  text₁ answer₁  text₂ answer₂ …  textₙ  closing  maxTokensₙ "}"
type session struct {
	start   time.Duration
	path    string
	opening string
	closing string
	stream  bool
	turns   []turn
}

// A turn is what one request adds.
type turn struct {
	think     time.Duration // since the answer before
	text      string        // JSON
	maxTokens int
}

// appendBody appends the body of a turn, given the answers to those before.
func (s *session) appendBody(dst []byte, n int, answers []string) []byte {
	dst = append(dst, s.opening...)
	for i := range n {
		dst = append(dst, s.turns[i].text...)
		dst = append(dst, message("assistant", answers[i])...)
	}
	dst = append(dst, s.turns[n].text...)
	dst = append(dst, s.closing...)
	dst = strconv.AppendInt(dst, int64(s.turns[n].maxTokens), 10)
	return append(dst, '}')
}

// message is a further message of a chat. The texts of this package need no
// escaping.
func message(role, text string) string {
	return `,{"role":"` + role + `","content":"` + text + `"}`
}

// chatSession starts a session of chat completions. Tools come after the
// messages, as most clients send them.
func chatSession(system, tools string, stream bool) session {
	closing := "]"
	if tools != "" {
		closing += `,"tools":` + tools
	}
	return session{
		path:    "/v1/chat/completions",
		opening: `{"model":"sim","messages":[{"role":"system","content":"` + system + `"}`,
		closing: closing + fmt.Sprintf(`,"stream":%t,"max_tokens":`, stream),
		stream:  stream,
	}
}
