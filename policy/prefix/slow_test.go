// SPDX-License-Identifier: Apache-2.0

package prefix

import "strings"

// The slow*_test.go files are the reference that the Scanner is held against. It reads the whole body
// with encoding/json, builds the canonical stream in memory and cuts it into blocks, readability above
// speed. It shares with the Scanner the tables of keys (keys.go) and nothing that walks or hashes.

// outcome is everything that callers see of a body.
type outcome struct {
	ok     bool
	hashes []uint64
	ends   []uint32
	length int
	tag    Tag
	marks  Marks
	model  string
}

// slow is one run of the reference.
type slow struct {
	config   Config
	shape    Shape
	bad      bool
	prompt   *slowStream
	system   *slowStream
	sysHash  uint64
	messages int
	tagSums  map[slot]uint64
	tagBytes map[slot]int
	out      outcome

	headOpen             bool
	head, prev           int
	headHash, first, key uint64
	keyKnown             bool
}

// slowScan fingerprints a whole body.
func slowScan(config Config, shape Shape, body []byte) outcome {
	return slowTree(config, shape, parseTree(body))
}

// slowTree fingerprints a body that parseTree has read.
func slowTree(config Config, shape Shape, t *tree) outcome {
	if t == nil || t.kind != 'o' {
		return outcome{}
	}
	if config.MaxBytes <= 0 || config.MaxBytes > MaxHashed {
		config.MaxBytes = MaxHashed
	}
	s := &slow{config: config, shape: shape, headOpen: true, tagSums: map[slot]uint64{}, tagBytes: map[slot]int{}}
	for i, key := range t.keys {
		s.member(key, t.items[i])
	}
	if s.bad || s.prompt == nil || s.messages == 0 {
		return outcome{}
	}
	s.finish()
	return s.out
}

func (s *slow) member(key string, v *tree) {
	target, slot := rootKey(s.shape, []byte(key))
	switch target {
	case targetPrompt:
		s.promptValue(v)
	case targetSystem:
		s.systemValue(v)
	case targetField:
		s.tagValue(slot, v)
	case targetParams:
		for i, key := range v.keys {
			if target, slot := paramsKey([]byte(key)); target == targetField {
				s.tagValue(slot, v.items[i])
			}
		}
	}
}

func (s *slow) tagValue(i slot, v *tree) {
	s.tagSums[i], s.tagBytes[i] = s.field(i, v)
	s.out.tag.Seen |= i.fields()
	if i == slotModel {
		s.out.model = ""
		if v.kind == 's' {
			s.out.model = v.text[:min(len(v.text), MaxModel)]
		}
	}
}

// field returns the sum and size of a field's value.
func (s *slow) field(i slot, v *tree) (sum uint64, size int) {
	if v.kind == 'z' {
		return 0, 0
	}
	path := seededHash(0, []byte(labels[i]))
	return s.leaves(path, v, i == slotInput || i == slotArguments, 0)
}

func (s *slow) leaves(path uint64, v *tree, ordered bool, depth int) (sum uint64, size int) {
	leaf := func(kind, hash uint64) uint64 { return slowMix(path+kind*1609587929392839161, hash) }
	switch v.kind {
	case 's':
		return leaf(1, seededHash(0, []byte(v.text))), len(v.text) + 2
	case 'n':
		return leaf(2, seededHash(0, []byte(v.text))), len(v.text) + 2
	case 't', 'f', 'z':
		return leaf(3, uint64(strings.IndexByte("tfz", v.kind))), len(v.text) + 2
	}
	if depth == MaxHashedDepth {
		s.bad = true
		return 0, 0
	}
	if depth > 0 {
		size = 2
		sum = leaf(uint64(4+strings.IndexByte("oa", v.kind)), 0)
	}
	counted := 0
	for i, item := range v.items {
		inner := slowMix(path, uint64(i+1))
		order := ordered
		if v.kind == 'o' {
			key := v.keys[i]
			if !ordered && key == "cache_control" {
				continue
			}
			counted++
			inner = slowMix(path, seededHash(0, []byte(key)))
			if ordered {
				inner = slowMix(inner, uint64(counted))
			}
			switch key {
			case "parameters", "input_schema", "input", "arguments":
				order = true
			}
			size += len(key) + 2
		}
		itemSum, itemSize := s.leaves(inner, item, order && (item.kind == 'o' || item.kind == 'a'), depth+1)
		sum += itemSum
		size += itemSize
	}
	return sum, size
}

func (s *slow) promptValue(v *tree) {
	if v.kind == 'z' {
		return
	}
	takes := v.kind == 'a' || v.kind == 's' && !takesList(s.shape)
	if s.prompt != nil || !takes {
		s.bad = true
		return
	}
	s.prompt = newSlowStream(s.config.Seed, "kvsteer/prefix/1/prompt", s.config.MaxBytes)
	if v.kind == 'a' {
		s.list(v, 1)
		return
	}
	if s.shape == Responses {
		s.message(&tree{kind: 'o', keys: []string{"role", "content"}, items: []*tree{{kind: 's', text: "user"}, v}})
		return
	}
	s.plain(func() { s.prompt.text(v.text) })
}

func (s *slow) list(v *tree, depth int) {
	for i := 0; i < len(v.items); i++ {
		switch item := v.items[i]; item.kind {
		case 's':
			s.plain(func() { s.prompt.text(item.text) })
		case 'n':
			// null, true and false between token ids do not end their run.
			s.plain(func() {
				s.prompt.frame([]byte{0xff, 'T'}, 0)
				for ; i < len(v.items) && strings.IndexByte("ntfz", v.items[i].kind) >= 0; i++ {
					if v.items[i].kind == 'n' {
						s.prompt.text(v.items[i].text + ",")
					}
				}
				i--
			})
		case 'o':
			s.message(item)
		case 'a':
			if depth == maxLists {
				s.bad = true
				return
			}
			s.list(item, depth+1)
			s.prompt.frame([]byte{0xff, 'L'}, 0)
		}
	}
}

// plain is a message without a role, given as bare text or token ids.
func (s *slow) plain(content func()) {
	c := s.prompt
	first := len(c.blocks)
	s.headOpen = false
	content()
	c.frame(messageFrame(0, 0), 0)
	c.endMessage(first, 0)
	for _, b := range c.blocks[first:] {
		if !s.keyKnown && b.end >= 4096 {
			s.key, s.keyKnown = b.hash, true
		}
	}
	if s.messages == 0 {
		s.first = c.mark(0)
	}
	if !s.keyKnown {
		s.key, s.keyKnown = c.mark(0), true
	}
	s.messages++
}

// systemValue is a system prompt outside the messages: one message in a chain of its own.
func (s *slow) systemValue(v *tree) {
	if strings.IndexByte("ntfz", v.kind) >= 0 {
		return
	}
	if s.system != nil {
		s.bad = true
		return
	}
	role := seededHash(0, []byte("system"))
	s.system = newSlowStream(s.config.Seed, "kvsteer/prefix/1/system", min(128<<10, s.config.MaxBytes))
	s.content(s.system, v, true)
	s.system.frame(messageFrame(role, 0), 16)
	s.system.endMessage(0, role)
	s.sysHash = s.system.mark(role)
}

func (s *slow) finish() {
	o := &s.out
	o.ok = true
	base := 0
	add := func(c *slowStream, limit int) {
		for _, b := range c.blocks {
			if end := base + b.end; end <= limit {
				o.hashes = append(o.hashes, b.hash)
				o.ends = append(o.ends, uint32(end))
			}
		}
		base += c.pos
	}
	m := &o.marks
	m.HeadHash = s.headHash
	if s.system != nil {
		add(s.system, s.config.MaxBytes)
		m.HeadHash = s.sysHash
		if s.head > 0 {
			m.HeadHash = slowMix(s.sysHash, s.headHash)
		}
	}
	m.Head, m.HeadKnown = base+s.head, true
	if s.prev > 0 {
		m.Prev = base + s.prev
	}
	m.PrevKnown = true
	m.Key, m.KeyKnown = s.key, true
	if !s.keyKnown {
		m.Key = s.first
		if s.head > 0 {
			m.Key = s.headHash
		}
	}
	add(s.prompt, s.config.MaxBytes)
	o.length = base
	for _, sum := range s.tagSums {
		o.tag.Hash += sum
	}
	o.tag.Bytes = s.tagBytes[slotTools] + s.tagBytes[slotFunctions] + s.tagBytes[slotDocuments]
	o.tag.Complete = true
}
