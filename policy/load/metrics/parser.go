// SPDX-License-Identifier: Apache-2.0

package metrics

import "bytes"

// MaxLine is the longest line that is read. vLLM's longest, cache_config_info and
// lora_requests_info, have a few hundred bytes to 2 KB.
const MaxLine = 8 << 10

// MaxAdapters is how many bytes of the list of running adapters are kept.
const MaxAdapters = 1 << 10

// maxName is the longest name that the shortcut for lines with equal names remembers.
const maxName = 128

// Parser reads one page after the other. Not safe for concurrent use.
type Parser struct {
	custom map[string][]metric

	engine   Engine
	known    bool // a name from the configuration was found
	sums     [fieldCount]accumulator
	seen     seriesTable
	result   Result // counts and adapters; the fields come from sums
	adapters [MaxAdapters]byte
	newest   float64 // time of the adapters' list

	// Lines with the same name follow each other: what was found for the last one is kept.
	last struct {
		name   [maxName]byte
		n      int
		hash   uint64
		engine Engine
		listed []metric
		custom []metric
	}

	// A line that began in an earlier window.
	tail     [MaxLine]byte
	tailLen  int
	overlong bool
}

// New returns a parser that also knows the configured names. It returns all faults of the
// configuration joined, each a *CustomError.
func New(custom []Custom) (*Parser, error) {
	named, err := compile(custom)
	if err != nil {
		return nil, err
	}
	p := &Parser{custom: named}
	p.Reset()
	return p, nil
}

// Reset begins a page.
func (p *Parser) Reset() {
	p.engine, p.known = Unknown, false
	p.sums = [fieldCount]accumulator{}
	p.seen.reset()
	p.result = Result{}
	p.newest = 0
	p.last.n = 0
	p.tailLen, p.overlong = 0, false
}

// Write takes the next window of the page.
func (p *Parser) Write(b []byte) {
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			p.keep(b)
			return
		}
		if p.tailLen == 0 && end <= MaxLine {
			p.line(b[:end])
		} else {
			p.keep(b[:end])
			p.endTail()
		}
		b = b[end+1:]
	}
}

// Close ends the page: a last line without a line feed counts.
func (p *Parser) Close() {
	if p.tailLen > 0 {
		p.endTail()
	}
}

// keep stores the part of a line that a window has.
func (p *Parser) keep(b []byte) {
	n := copy(p.tail[p.tailLen:], b)
	p.tailLen += n
	p.overlong = p.overlong || n < len(b)
}

func (p *Parser) endTail() {
	if p.overlong {
		p.result.Lines++
		p.result.Overlong++
	} else {
		p.line(p.tail[:p.tailLen])
	}
	p.tailLen, p.overlong = 0, false
}

// Result returns what the page says so far.
func (p *Parser) Result() Result {
	r := p.result
	r.Engine = p.engine
	if r.Engine == Unknown && p.known {
		r.Engine = Configured
	}
	for f := range p.sums {
		if p.sums[f].n > 0 {
			r.set(Field(f), p.sums[f].value())
		}
	}
	r.derive()
	return r
}

func (p *Parser) line(b []byte) {
	p.result.Lines++
	if len(b) == 0 || b[0] == '#' {
		return
	}
	n := p.last.n
	if n == 0 || len(b) <= n || string(b[:n]) != string(p.last.name[:n]) || !endsName(b[n]) {
		b = trim(b)
		n = nameEnd(b)
		p.look(b[:n])
	}
	p.samples(trimRight(b[n:]))
}

func nameEnd(b []byte) int {
	n := 0
	for n < len(b) && !endsName(b[n]) {
		n++
	}
	return n
}

func endsName(c byte) bool {
	return c == '{' || c == ' ' || c == '\t'
}

// look finds what a name stands for.
func (p *Parser) look(name []byte) {
	l := &p.last
	l.n = 0
	if len(name) <= maxName {
		l.n = copy(l.name[:], name)
	}
	l.custom = p.custom[string(name)]
	l.engine, l.listed = Unknown, nil
	for i := range families {
		f := &families[i]
		if n := len(f.prefix); len(name) > n && string(name[:n]) == f.prefix {
			l.engine, l.listed = f.engine, f.metrics[string(name[n:])]
			break
		}
	}
	p.recognise(l.engine)
	if l.listed != nil || l.custom != nil {
		l.hash = hash(offset64, name)
	}
}

// recognise takes e as the page's engine unless one that comes before it was found.
func (p *Parser) recognise(e Engine) {
	if e <= p.engine {
		return
	}
	if e.kin() != p.engine.kin() {
		for f := range p.sums {
			if p.sums[f].rank < customRank && Field(f) != StartTime {
				p.sums[f] = accumulator{}
			}
		}
	}
	p.engine = e
}

// samples takes the part of a line after its name.
func (p *Parser) samples(b []byte) {
	l := &p.last
	for i := range l.custom {
		p.known = true
		p.sample(&l.custom[i], b)
	}
	for i := range l.listed {
		m := &l.listed[i]
		engine := max(l.engine, m.engine)
		p.recognise(engine)
		switch {
		case engine != Unknown && engine.kin() != p.engine.kin():
		case m.field == Adapters:
			p.readAdapters(b)
		default:
			p.sample(m, b)
		}
	}
}

func (p *Parser) sample(m *metric, b []byte) {
	s, ok := m.read(b)
	if !ok {
		p.result.Unusable++
		return
	}
	if s.wanted {
		p.add(m, s)
	}
}

func (p *Parser) add(m *metric, s sample) {
	a := &p.sums[m.field]
	if a.n > 0 && m.rank < a.rank {
		return
	}
	if m.rank > a.rank {
		*a = accumulator{}
	}
	// The field is part of the key: one name may stand for several.
	growth, fresh, ok := p.seen.put((p.last.hash^s.id*prime64^uint64(m.field))*prime64, s.value)
	if !ok {
		p.result.Dropped++
		return
	}
	if fresh {
		a.n++
	}
	a.rule, a.rank = m.rule, m.rank
	a.sum += growth
	a.largest = max(a.largest, s.value)
}

// readAdapters takes a lora_requests_info series. Each change of the sets of adapters makes a
// new series with the time as its value, and the old ones stay.
func (p *Parser) readAdapters(b []byte) {
	var running, most []byte
	l := labels{rest: b}
	for l.next() {
		switch string(l.name) {
		case "running_lora_adapters":
			running = l.value
		case "max_lora":
			most = l.value
		}
	}
	at, ok := readValue(l.rest)
	if l.bad || !ok {
		p.result.Unusable++
		return
	}
	if at < p.newest {
		return
	}
	p.newest = at
	r := &p.result
	r.known |= 1 << Adapters
	r.Adapters = p.adapters[:copy(p.adapters[:], running)]
	if n, ok := readCount(most); ok {
		r.MaxAdapters = n
	}
}
