// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"slices"

	"github.com/kvsteer/kvsteer/policy/load/internal/jsonwalk"
)

// DefaultMaxBytes is the longest document that is read where nothing else is configured:
// Envoy sends about 1 KB for a host and as much for its cluster.
const DefaultMaxBytes = 8 << 20

// Faults of a document and of a configuration.
var (
	ErrSyntax  = jsonwalk.ErrSyntax
	ErrCut     = jsonwalk.ErrCut
	ErrTooLong = errors.New("clusters: document too long")
	ErrAddress = errors.New("clusters: host without an address")
	ErrValue   = errors.New("clusters: member with a wrong value")
	ErrCluster = errors.New("clusters: endpoint without a cluster")
	ErrOrder   = errors.New("clusters: hosts before their cluster's name")
	ErrNames   = errors.New("clusters: no cluster name, an empty or too long one, or one given twice")
	ErrVisitor = errors.New("clusters: no visitor")
)

// Config says what to read.
type Config struct {
	Clusters []string // names, without repetition
	MaxBytes int      // 0: DefaultMaxBytes
}

// Visitor takes the hosts.
type Visitor func(h *Host)

// Parser reads one document after the other. Not safe for concurrent use.
type Parser struct {
	clusters []string
	maxBytes int
	visit    Visitor

	walker *jsonwalk.Walker[Parser]
	bytes  int
	err    error
	seen   []bool // by cluster

	cluster int // of the hosts to come, unknown before a cluster's name
	host    Host
	texts   [textCount]text
	port    uint64
	counter Counter // of the statistic that is open
	value   uint64  // of the statistic that is open
	address [2*jsonwalk.MaxText + 16]byte
}

// unknown is the index of a cluster that has not been named.
const unknown = -1

// New returns a parser that hands the hosts of the configured clusters to visit.
func New(c Config, visit Visitor) (*Parser, error) {
	if visit == nil {
		return nil, ErrVisitor
	}
	if len(c.Clusters) == 0 {
		return nil, ErrNames
	}
	for i, name := range c.Clusters {
		if name == "" || len(name) > jsonwalk.MaxText || slices.Contains(c.Clusters[:i], name) {
			return nil, ErrNames
		}
	}
	p := &Parser{clusters: slices.Clone(c.Clusters), maxBytes: c.MaxBytes, visit: visit}
	if p.maxBytes == 0 {
		p.maxBytes = DefaultMaxBytes
	}
	p.seen = make([]bool, len(c.Clusters))
	w, err := jsonwalk.New(document, p)
	p.walker = w
	return p, err
}

// Reset begins a document.
func (p *Parser) Reset() {
	p.walker.Reset()
	p.bytes, p.err = 0, nil
	clear(p.seen)
}

// Write takes the next window. After an error the rest of the document need not be written.
func (p *Parser) Write(b []byte) error {
	if p.err != nil {
		return p.err
	}
	p.bytes += len(b)
	if p.bytes > p.maxBytes {
		p.err = ErrTooLong
		return p.err
	}
	if err := p.walker.Write(b); p.err == nil {
		p.err = err
	}
	return p.err
}

// Close ends the document. Only where it returns nil were all hosts handed on.
func (p *Parser) Close() error {
	if p.err != nil {
		return p.err
	}
	p.err = p.walker.Close()
	return p.err
}

// Seen reports whether the document lists the cluster with this index, with or without hosts.
// An endpoint document lists all clusters.
func (p *Parser) Seen(cluster int) bool {
	return cluster >= 0 && cluster < len(p.seen) && p.seen[cluster]
}

// find returns the index of the cluster that v names, unknown for one that isn't wanted.
func (p *Parser) find(v jsonwalk.Value) int {
	for i, name := range p.clusters {
		if v.Is(name) {
			return i
		}
	}
	return unknown
}

func (p *Parser) beginHost() {
	p.host = Host{Weight: 1}
	p.port = 0
	for i := range p.texts {
		p.texts[i].n = 0
	}
}

// finish hands the host on.
func (p *Parser) finish(address []byte) {
	if len(address) == 0 {
		p.fail(ErrAddress)
	}
	if p.err != nil {
		return
	}
	h := &p.host
	h.Cluster, h.Address = p.cluster, address
	h.Hostname = p.texts[hostname].bytes()
	h.Region = p.texts[region].bytes()
	h.Zone = p.texts[zone].bytes()
	h.SubZone = p.texts[subZone].bytes()
	p.visit(h)
}

// fail stores the first fault of the document.
func (p *Parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}
