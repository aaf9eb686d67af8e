// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"encoding/binary"
	"strings"
)

func messageFrame(role, fields uint64) []byte {
	p := binary.LittleEndian.AppendUint64([]byte{0xff, 'M'}, role)
	return binary.LittleEndian.AppendUint64(p, fields)
}

// message is an object in the prompt.
func (s *slow) message(v *tree) {
	c := s.prompt
	first := len(c.blocks)
	role, kind, fields, weight := s.messageFields(v)
	if kind != kindSystem {
		s.headOpen = false
	}
	for i, key := range v.keys {
		if target, _, _ := messageKey(s.shape, []byte(key)); target == targetContent {
			s.content(c, v.items[i], false)
		}
	}
	if role != 0 {
		weight += 16
	}
	c.frame(messageFrame(role, fields), weight)
	c.endMessage(first, role)
	h := c.mark(role)
	if s.messages == 0 {
		s.first = h
	}
	switch {
	case kind == kindSystem && s.headOpen:
		s.head, s.headHash = c.pos, h
	case kind == kindAssistant:
		s.prev = c.pos
	case kind == kindUser && !s.keyKnown:
		s.key, s.keyKnown = h, true
	}
	s.messages++
}

// messageFields returns what a message has beside its content.
func (s *slow) messageFields(v *tree) (role uint64, k kind, fields uint64, weight int) {
	var seen uint64
	for i, key := range v.keys {
		item := v.items[i]
		target, slot, bit := messageKey(s.shape, []byte(key))
		if target == targetSkip {
			continue
		}
		s.bad = s.bad || seen&bit != 0
		seen |= bit
		switch {
		case target == targetRole && item.kind == 's':
			role = seededHash(0, []byte(item.text))
			switch item.text {
			case "system", "developer":
				k = kindSystem
			case "user":
				k = kindUser
			case "assistant":
				k = kindAssistant
			default:
				k = kindOther
			}
		default:
			sum, size := s.memberField(target, slot, item)
			fields += sum
			weight += size
		}
	}
	for i, key := range v.keys {
		item := v.items[i]
		generated := strings.HasSuffix(item.text, "_call") || item.text == "reasoning"
		if key == "type" && item.kind == 's' && generated && role == 0 {
			k = kindAssistant
		}
	}
	return role, k, fields, weight
}

func textType(name string) bool {
	return name == "text" || name == "input_text" || name == "output_text" || name == "message"
}

func slowWeight(i slot, sum uint64, size int) int {
	if sum != 0 && isMedia(i) {
		return 1024
	}
	return size
}

// content is the content of a message: text, parts, or one part.
func (s *slow) content(c *slowStream, v *tree, system bool) {
	parts := 0
	one := func(v *tree) {
		if v.kind != 's' && v.kind != 'o' {
			return
		}
		billing := s.isBilling(c, v, system && parts == 0)
		if billing {
			v = withoutText(v)
		}
		if parts > 0 {
			c.frame([]byte{0xff, 'P'}, 1)
		}
		s.part(c, v)
		if !billing {
			parts++
		}
	}
	if v.kind != 'a' {
		one(v)
		return
	}
	for _, item := range v.items {
		one(item)
	}
}

func (s *slow) part(c *slowStream, v *tree) {
	if v.kind == 's' {
		c.text(v.text)
		return
	}
	var seen, fields uint64
	weight := 0
	for i, key := range v.keys {
		item := v.items[i]
		target, slot, bit := partKey([]byte(key))
		if target == targetSkip {
			continue
		}
		s.bad = s.bad || seen&bit != 0
		seen |= bit
		switch {
		case target == targetText && item.kind == 's':
			c.text(item.text)
		default:
			sum, size := s.memberField(target, slot, item)
			fields += sum
			weight += size
		}
	}
	if fields != 0 {
		c.frame(binary.LittleEndian.AppendUint64([]byte{0xff, 'F'}, fields), weight)
	}
}

// memberField returns the sum of a member that is a field of its message or part, and what it counts
// for; 0 for any other.
func (s *slow) memberField(target target, slot slot, item *tree) (sum uint64, weight int) {
	switch {
	case target == targetType && item.kind == 's' && !textType(item.text):
		sum, _ = s.field(slotType, item)
		return sum, 2
	case target == targetField:
		sum, size := s.field(slot, item)
		return sum, slowWeight(slot, sum, size)
	}
	return 0, 0
}

// isBilling reports whether the first part of a system prompt is Claude Code's billing line.
func (s *slow) isBilling(c *slowStream, v *tree, first bool) bool {
	if !first || s.shape != Messages || s.config.KeepBilling || c.pos > 0 {
		return false
	}
	text := v.text
	for i, key := range v.keys {
		if key == "text" && v.items[i].kind == 's' {
			text = v.items[i].text
		}
	}
	return strings.HasPrefix(text, "x-anthropic-billing-header:")
}

func withoutText(v *tree) *tree {
	if v.kind == 's' {
		return &tree{kind: 's'}
	}
	w := &tree{kind: 'o'}
	for i, key := range v.keys {
		if key != "text" {
			w.keys = append(w.keys, key)
			w.items = append(w.items, v.items[i])
		}
	}
	return w
}
