// SPDX-License-Identifier: Apache-2.0

package prefix

// Kinds of leaf of a field's value. They keep "1", 1 and [1] apart.
const (
	leafString uint64 = iota + 1
	leafNumber
	leafLiteral
	leafObject
	leafArray
)

// field hashes a JSON value that is one field, whatever white space and escapes it is written with.
//
// Its hash is the sum of the hashes of its leaves, each of which knows the path from the field down
// to it: keys, and indexes of elements. A sum does not depend on the order of keys and needs no
// memory but the paths of the open containers. Where the order of keys counts, because a template
// prints the object as it is, the key's number is part of the path.
type field struct {
	path    uint64 // of the value being read, or the next one
	acc     uint64 // sum of the leaves
	bytes   int    // canonical size: about that of compact JSON without escapes
	level   int    // open containers
	ordered int    // outermost level in which the order of keys counts; more than any level if none
	order   bool   // the next container and what is in it is such a level

	text64    digest // of the string, number or key being read
	textBytes int
	paths     [MaxHashedDepth]uint64
	items     [MaxHashedDepth]uint32 // keys or elements so far
}

func (f *field) reset() { f.path, f.acc, f.bytes, f.level, f.ordered = 0, 0, 0, 0, MaxHashedDepth }

func (s *Scanner) beginField() {
	s.field.reset()
	s.path = labelHashes[s.slot]
	s.order = s.slot == slotInput || s.slot == slotArguments
}

func (s *Scanner) beginText(k keep) {
	s.sink, s.keep = sinkField, k
	s.text64.reset(0)
	s.textBytes = 0
}

// fieldPlain is putPlain for a field.
func (s *Scanner) fieldPlain(p []byte) int {
	i := 0
	if n := s.text64.n; n > 0 {
		i = min(len(p), stripe-n)
		if plain(p[:i]) < i {
			return 0
		}
		s.text64.write(p[:i])
	}
	if s.text64.n == 0 {
		i += s.text64.text(p[i:])
	}
	s.textBytes += i
	return i
}

func (f *field) leaf(kind, hash uint64, bytes int) {
	f.acc += mix(f.path+kind*prime3, hash)
	f.bytes += bytes + 2
}

func (s *Scanner) openField(object bool) {
	if s.level == MaxHashedDepth {
		s.fail(ReasonTooDeep)
		return
	}
	switch {
	case s.level == 0:
	case object:
		s.leaf(leafObject, 0, 0)
	default:
		s.leaf(leafArray, 0, 0)
	}
	if s.order && s.ordered > s.level {
		s.ordered = s.level
	}
	s.paths[s.level] = s.path
	s.items[s.level] = 0
	s.level++
	if !object {
		s.fieldElement()
	}
}

func (f *field) closeField() {
	f.level--
	if f.level <= f.ordered {
		f.ordered = MaxHashedDepth
	}
}

// fieldElement sets the path of the next element of an array.
func (s *Scanner) fieldElement() {
	top := s.level - 1
	s.items[top]++
	s.path = mix(s.paths[top], uint64(s.items[top]))
	s.target, s.order = targetInner, false
}

// fieldKey sets the path of the value behind a key.
func (s *Scanner) fieldKey(key []byte, hash uint64, bytes int) {
	top := s.level - 1
	path := mix(s.paths[top], hash)
	s.target = targetInner
	if top >= s.ordered {
		s.items[top]++
		s.path = mix(path, uint64(s.items[top]))
		s.bytes += bytes + 2
		return
	}
	s.path = path
	switch string(key) {
	case "cache_control":
		s.target = targetSkip
		return
	case "parameters", "input_schema", "input", "arguments":
		s.order = true
	default:
		s.order = false
	}
	s.bytes += bytes + 2
}

// endField gives the field to the body, message or part that it belongs to.
func (s *Scanner) endField() {
	switch s.node {
	case nodeRoot, nodeParams:
		s.setTag(s.slot, s.acc, s.bytes)
	case nodeMessage:
		s.fields += s.acc
		s.fieldBytes += s.fieldWeight()
	case nodePart:
		s.partFields += s.acc
		s.partBytes += s.fieldWeight()
	}
	s.acc, s.bytes = 0, 0
}

// fieldWeight returns the canonical bytes that the field counts for: those of its text, or a flat
// number for media, whose tokens have little to do with the length of a URL or of base64.
func (s *Scanner) fieldWeight() int {
	if s.acc != 0 && isMedia(s.slot) {
		return mediaBytes
	}
	return s.bytes
}
