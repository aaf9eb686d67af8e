// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"bytes"

	"github.com/kvsteer/kvsteer/policy/load/internal/decimal"
	"github.com/kvsteer/kvsteer/policy/load/internal/jsonwalk"
)

// The headers, in lower case as Envoy shows them.
const (
	Header       = "endpoint-load-metrics"
	HeaderJSON   = "endpoint-load-metrics-json"
	HeaderBinary = "endpoint-load-metrics-bin"
)

// MaxValue is the longest header value that is read.
const MaxValue = 8 << 10

// Parser reads the reports of one response after the other. Not safe for concurrent use.
type Parser struct {
	report Report
	seen   bool // a report was there
	binary bool // by the binary header, which excludes the others
	err    error
	walker *jsonwalk.Walker[Parser]
	buffer [MaxValue]byte
}

// New returns a parser.
func New() (*Parser, error) {
	p := new(Parser)
	w, err := jsonwalk.New(document, p)
	p.walker = w
	return p, err
}

// Reset begins a response.
func (p *Parser) Reset() {
	p.report.reset()
	p.seen, p.binary, p.err = false, false, nil
}

// Add takes a header of the response; all but the three above are passed over.
func (p *Parser) Add(name string, value []byte) {
	switch name {
	case HeaderBinary:
		p.addBinaryHeader(value)
	case Header, HeaderJSON:
		if p.binary {
			return
		}
		p.seen = true
		if p.err == nil {
			p.err = p.parse(name, value)
		}
	}
}

func (p *Parser) addBinaryHeader(value []byte) {
	if p.binary {
		p.err = ErrSeveral
		return
	}
	p.Reset()
	p.seen, p.binary = true, true
	p.err = p.parseBinary(value)
}

// Report returns what the headers since Reset say: ErrMissing where none of them is a report,
// the first fault where there is one. The report is valid until the next Reset.
func (p *Parser) Report() (*Report, error) {
	if !p.seen {
		return &p.report, ErrMissing
	}
	if p.err != nil {
		p.report.reset()
	}
	return &p.report, p.err
}

func (p *Parser) parse(name string, value []byte) error {
	if len(value) > MaxValue {
		return ErrTooLong
	}
	value = bytes.TrimSpace(value)
	if name == HeaderJSON {
		return p.parseJSON(value)
	}
	format, rest := cutWord(value)
	switch {
	case isWord(format, "TEXT"):
		return p.parseText(rest)
	case isWord(format, "JSON"):
		return p.parseJSON(rest)
	case isWord(format, "BIN"):
		return p.parseBinary(rest)
	case len(value) > 0 && value[0] == '{':
		return p.parseJSON(value)
	case bytes.ContainsAny(format, ":="):
		return p.parseText(value)
	}
	return ErrFormat
}

// cutWord splits b at its first space.
func cutWord(b []byte) (word, rest []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], bytes.TrimSpace(b[i:])
	}
	return b, nil
}

// isWord reports whether b is the upper-case word in any case.
func isWord(b []byte, upper string) bool {
	if len(b) != len(upper) {
		return false
	}
	for i, c := range b {
		if c&^0x20 != upper[i] {
			return false
		}
	}
	return true
}

// parseText reads "name:value,name=value,…".
func (p *Parser) parseText(b []byte) error {
	for len(b) > 0 {
		item, rest, more := bytes.Cut(b, []byte(","))
		if more && len(rest) == 0 {
			return ErrSyntax
		}
		b = rest
		item = bytes.TrimSpace(item)
		if word, folded := cutWord(item); isWord(word, "TEXT") {
			item = folded // a proxy has made one header of two
		}
		name, value, ok := bytes.Cut(item, []byte("="))
		if !ok {
			name, value, ok = bytes.Cut(item, []byte(":"))
		}
		if !ok {
			return ErrSyntax
		}
		v, ok := decimal.Parse(bytes.TrimSpace(value))
		if !ok {
			return ErrValue
		}
		if err := p.putText(bytes.TrimSpace(name), v); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parser) putText(name []byte, v float64) error {
	if f, ok := standardField(name); ok {
		return p.report.put(f, v)
	}
	kind, key, ok := bytes.Cut(name, []byte("."))
	if !ok || len(key) == 0 {
		return ErrName
	}
	switch string(kind) {
	case "named_metrics":
		return p.report.putNamed(key, v)
	case "utilization", "request_cost":
		return nil
	}
	return ErrName
}

// document is the report in JSON, with the names of the protocol buffer or those that its JSON
// mapping makes of them.
var document = &jsonwalk.Node[Parser]{Members: []jsonwalk.Member[Parser]{
	{Name: "cpu_utilization", Node: standard(CPU)},
	{Name: "cpuUtilization", Node: standard(CPU)},
	{Name: "mem_utilization", Node: standard(Memory)},
	{Name: "memUtilization", Node: standard(Memory)},
	{Name: "application_utilization", Node: standard(Application)},
	{Name: "applicationUtilization", Node: standard(Application)},
	{Name: "rps_fractional", Node: standard(RPS)},
	{Name: "rpsFractional", Node: standard(RPS)},
	{Name: "eps", Node: standard(EPS)},
	{Name: "named_metrics", Node: namedMetrics},
	{Name: "namedMetrics", Node: namedMetrics},
}}

var namedMetrics = &jsonwalk.Node[Parser]{Other: number(func(p *Parser, v jsonwalk.Value, n float64) error {
	return p.report.putNamed(v.Name, n)
})}

func standard(f Field) *jsonwalk.Node[Parser] {
	return number(func(p *Parser, _ jsonwalk.Value, n float64) error { return p.report.put(f, n) })
}

// number is a node for a number; null is nothing.
func number(put func(p *Parser, v jsonwalk.Value, n float64) error) *jsonwalk.Node[Parser] {
	return &jsonwalk.Node[Parser]{Scalar: func(p *Parser, v jsonwalk.Value) bool {
		if v.Kind == jsonwalk.Null || p.err != nil {
			return true
		}
		n, ok := v.Float()
		if !ok {
			p.err = ErrValue
			return true
		}
		p.err = put(p, v, n)
		return true
	}}
}

func (p *Parser) parseJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return ErrSyntax
	}
	p.walker.Reset()
	if p.walker.Write(b) != nil || p.walker.Close() != nil {
		return ErrSyntax
	}
	return p.err
}
