// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"

	"github.com/kvsteer/kvsteer/expr/document"
)

// Options are what the document says beside definitions: how requests are
// treated around the choice. No expression can change them.
type Options struct {
	Strict         bool     // requests without an expression get 404 and 503 too, instead of Envoy's own choice
	RequireModel   bool     // x-model must be there
	ModelHeader    string   // where the model is named if x-model isn't there, lower case; "": nowhere
	SessionHeaders []string // where the affinity key is if x-cache-affinity-key isn't there, in this order, lower case
	MaxWaiting     int      // streams of one VM that may wait for an endpoint at a time
	MaxRingPoints  int      // points of one hash ring: endpoints × virtual nodes
}

// The bounds and defaults of Options.
const (
	maxSessionHeaders     = 8
	maxHeaderName         = 128
	mostWaiting           = 1 << 16
	defaultWaiting        = 256
	mostRingPoints        = 1 << 20
	defaultMostRingPoints = 1 << 16
)

func defaultOptions() Options {
	return Options{MaxWaiting: defaultWaiting, MaxRingPoints: defaultMostRingPoints}
}

// Options returns what the document says beside definitions.
func (c *Config) Options() Options { return c.options }

// optionFields are their names in the document.
var optionFields = []string{
	"strict", "require_model", "model_header", "session_headers", "max_waiting", "max_ring_points",
}

// option reads one field and reports whether it is an option.
func (d *documentReader) option(key string, n document.Node) bool {
	o := &d.config.options
	switch key {
	case "strict":
		d.flag(&o.Strict, n)
	case "require_model":
		d.flag(&o.RequireModel, n)
	case "model_header":
		d.headerName(&o.ModelHeader, n)
	case "session_headers":
		d.headerNames(&o.SessionHeaders, n)
	case "max_waiting":
		d.bound(&o.MaxWaiting, n, Range{Max: mostWaiting})
	case "max_ring_points":
		d.bound(&o.MaxRingPoints, n, Range{Min: 1, Max: mostRingPoints})
	default:
		return false
	}
	return true
}

func (d *documentReader) flag(into *bool, n document.Node) {
	p := Parameter{Type: Bool}
	v, reason := p.decode(n)
	if reason != "" {
		d.fault(n.Pointer, reason, p.expected())
	}
	*into = v.Bool()
}

func (d *documentReader) bound(into *int, n document.Node, r Range) {
	p := Parameter{Type: Uint, Static: r}
	v, reason := p.decode(n)
	if reason != "" {
		d.fault(n.Pointer, reason, p.expected())
		return
	}
	*into = int(v.Uint())
}

// headerName reads the name of a request header.
func (d *documentReader) headerName(into *string, n document.Node) {
	name, ok := n.Text()
	switch {
	case !ok:
		d.fault(n.Pointer, FaultWrongType, "must be the name of a header")
	case !isHeaderName(name):
		d.fault(n.Pointer, FaultOutOfRange, "must be the name of a header, at most "+strconv.Itoa(maxHeaderName)+" bytes")
	default:
		*into = strings.ToLower(name)
	}
}

func (d *documentReader) headerNames(into *[]string, n document.Node) {
	if n.Kind != document.Array {
		d.fault(n.Pointer, FaultWrongType, "must be an array of header names")
		return
	}
	for i, member := range n.Elements() {
		if i == maxSessionHeaders {
			d.fault(member.Pointer, FaultOutOfRange, "at most "+strconv.Itoa(maxSessionHeaders)+" headers")
			return
		}
		name := ""
		d.headerName(&name, member)
		*into = append(*into, name)
	}
}

// isHeaderName reports whether name is a field name of RFC 9110 §5.1.
func isHeaderName(name string) bool {
	for i := 0; i < len(name); i++ {
		if !tokenRest.is(name[i]) || name[i] == ':' || name[i] == '/' {
			return false
		}
	}
	return name != "" && len(name) <= maxHeaderName
}
