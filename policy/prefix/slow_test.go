// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// This file is the reference that the Scanner is held against: it reads the whole body with
// encoding/json, builds the canonical stream in memory and cuts it into blocks, readability above
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

// tree is a JSON value that keeps the order of keys, duplicates, and numbers as they are written.
type tree struct {
	kind  byte // one of s(tring) n(umber) t f z(null) o(bject) a(rray)
	text  string
	keys  []string
	items []*tree
}

// parseTree reads a body; nil if it isn't JSON.
func parseTree(body []byte) *tree {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	t, err := readTree(d, 0)
	if err != nil {
		return nil
	}
	return t
}

func readTree(d *json.Decoder, depth int) (*tree, error) {
	if depth > MaxDepth {
		return nil, io.ErrUnexpectedEOF
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case string:
		return &tree{kind: 's', text: v}, nil
	case json.Number:
		return &tree{kind: 'n', text: string(v)}, nil
	case bool:
		if v {
			return &tree{kind: 't', text: "true"}, nil
		}
		return &tree{kind: 'f', text: "false"}, nil
	case json.Delim:
		if depth == MaxDepth {
			return nil, io.ErrUnexpectedEOF
		}
		t := &tree{kind: 'a'}
		if v == '{' {
			t.kind = 'o'
		}
		return t, readItems(d, t, depth)
	}
	return &tree{kind: 'z', text: "null"}, nil
}

func readItems(d *json.Decoder, t *tree, depth int) error {
	for d.More() {
		if t.kind == 'o' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			t.keys = append(t.keys, key.(string))
		}
		item, err := readTree(d, depth+1)
		if err != nil {
			return err
		}
		t.items = append(t.items, item)
	}
	_, err := d.Token()
	return err
}

// slowStream is a chain: its pieces, and what is needed to cut them.
type slowStream struct {
	seed   uint64
	limit  int
	blocks []slowBlock // closed blocks, hashes without role
	open   []byte      // bytes of the open block
	link   uint64
	pos    int
	start  int
	ends   int // blocks closed at message ends
	full   bool
	roles  []int // blocks of the open message wait for its role from here
}

type slowBlock struct {
	hash uint64
	end  int
}

func newSlowStream(seed uint64, label string, limit int) *slowStream {
	link := seededHash(seed, []byte(label))
	return &slowStream{seed: link, link: link, limit: limit}
}

func seededHash(seed uint64, p []byte) uint64 {
	d := xxhash.NewWithSeed(seed)
	_, _ = d.Write(p)
	return d.Sum64()
}

// slowMix is mix as the package doc has it.
func slowMix(a, b uint64) uint64 {
	h := bits.RotateLeft64(a+11400714785074694791, 31)*9650029242287828579 ^ (b + 2870177450012600261)
	h = (h ^ h>>33) * 14029467366897019727
	h = (h ^ h>>29) * 1609587929392839161
	return h ^ h>>32
}

func (c *slowStream) text(p string) {
	for i := range len(p) {
		if !c.full {
			c.open = append(c.open, p[i])
		}
		c.move(1)
	}
}

func (c *slowStream) frame(p []byte, weight int) {
	if !c.full {
		c.open = append(c.open, p...)
	}
	c.move(weight)
}

func (c *slowStream) move(n int) {
	from := c.pos
	c.pos += n
	if !c.full && from/256 != c.pos/256 && slowGrid(from) != slowGrid(c.pos) {
		c.close()
		c.full = c.pos >= c.limit
	}
}

// slowGrid counts the grid points up to pos.
func slowGrid(pos int) int {
	n, _ := slices.BinarySearch(slowPoints, pos+1)
	return n
}

// slowPoints are the grid points one by one.
var slowPoints = func() (points []int) {
	for at := 0; at < 1<<24; {
		switch {
		case at < 4096:
			at += 256
		case at < 65536:
			at += 1024
		default:
			at += 4096
		}
		points = append(points, at)
	}
	return points
}()

func (c *slowStream) close() {
	c.link = seededHash(c.link, c.open)
	c.blocks = append(c.blocks, slowBlock{c.link, c.pos})
	c.open, c.start = nil, c.pos
}

// endMessage cuts at the end of a message if the budget allows, and gives the message's blocks their
// role.
func (c *slowStream) endMessage(first int, role uint64) {
	step := 4096
	if c.pos < 4096 {
		step = 256
	} else if c.pos < 65536 {
		step = 1024
	}
	free := c.ends < 16
	budget := c.ends < 16+slowGrid(c.pos)/4 && c.pos-c.start >= step/8
	if !c.full && c.pos > c.start && (free || budget) {
		c.ends++
		c.close()
	}
	for i := first; i < len(c.blocks); i++ {
		c.blocks[i].hash = slowMix(c.blocks[i].hash, role)
	}
}

func (c *slowStream) mark(role uint64) uint64 {
	if len(c.open) == 0 {
		return slowMix(c.link, role)
	}
	return slowMix(seededHash(c.link, c.open), role)
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

	headOpen              bool
	head, prev            int
	headHash, first, key  uint64
	keyKnown, inKeyPrompt bool
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
		case target == targetType && item.kind == 's' && !textType(item.text):
			sum, _ := s.field(slotType, item)
			fields += sum
			weight += 2
		case target == targetField:
			sum, size := s.field(slot, item)
			fields += sum
			weight += slowWeight(slot, sum, size)
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
		case target == targetType && item.kind == 's' && !textType(item.text):
			sum, _ := s.field(slotType, item)
			fields += sum
			weight += 2
		case target == targetField:
			sum, size := s.field(slot, item)
			fields += sum
			weight += slowWeight(slot, sum, size)
		}
	}
	if fields != 0 {
		c.frame(binary.LittleEndian.AppendUint64([]byte{0xff, 'F'}, fields), weight)
	}
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
