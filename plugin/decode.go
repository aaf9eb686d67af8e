// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kvsteer/kvsteer/expr/document"
)

// decoder turns a JSON document into settings and collects every fault it
// meets, each with its JSON pointer (RFC 6901), instead of stopping at the
// first. The zero value is ready.
type decoder struct {
	faults []fault
}

// fault is one thing wrong with a configuration.
type fault struct {
	pointer string // RFC 6901; "" is the whole document
	text    string
}

func (f fault) String() string {
	if f.pointer == "" {
		return f.text
	}
	return f.pointer + ": " + f.text
}

// fields names the members an object may have and how each is decoded. It is a
// list, for as a map it would take twice as much of the module.
type fields []field

type field struct {
	name   string
	decode func(n document.Node)
}

// of returns how a member is decoded, nil if there is no such member.
func (f fields) of(name string) func(document.Node) {
	for _, known := range f {
		if known.name == name {
			return known.decode
		}
	}
	return nil
}

func (d *decoder) fault(at, text string) {
	d.faults = append(d.faults, fault{at, text})
}

// object decodes n's members. Unknown and repeated members are faults.
func (d *decoder) object(n document.Node, known fields) {
	if n.Kind != document.Object {
		d.fault(n.Pointer, "must be an object")
		return
	}
	seen := map[string]bool{}
	n.Members(func(name string, member document.Node) {
		decode := known.of(name)
		switch {
		case decode == nil:
			d.fault(member.Pointer, "unknown field")
		case seen[name]:
			d.fault(member.Pointer, "appears twice")
		default:
			decode(member)
		}
		seen[name] = true
	})
}

// require reports the members of n that are missing.
func (d *decoder) require(n document.Node, names ...string) {
	if n.Kind != document.Object {
		return
	}
	for _, name := range names {
		if n.Member(name).Kind == document.None {
			d.fault(n.Under(name), "is required")
		}
	}
}

// list decodes each element of an array.
func (d *decoder) list(n document.Node, element func(n document.Node)) {
	if n.Kind != document.Array {
		d.fault(n.Pointer, "must be an array")
		return
	}
	for _, e := range n.Elements() {
		element(e)
	}
}

// filled reports an array without elements.
func (d *decoder) filled(n document.Node, fault string) {
	if n.Kind == document.Array && len(n.Elements()) == 0 {
		d.fault(n.Pointer, fault)
	}
}

// integer returns a decoder of a whole number within [low, high].
func (d *decoder) integer(dst *int, low, high int) func(document.Node) {
	return func(n document.Node) {
		i, err := strconv.Atoi(n.Literal())
		if n.Kind != document.Number || err != nil || i < low || i > high {
			d.fault(n.Pointer, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
			return
		}
		*dst = i
	}
}

// number returns a decoder of a number within [low, high].
func (d *decoder) number(dst *float64, low, high float64) func(document.Node) {
	return func(n document.Node) {
		f, err := strconv.ParseFloat(n.Literal(), 64)
		if n.Kind != document.Number || err != nil || f < low || f > high {
			d.fault(n.Pointer, "must be a number from "+formatFloat(low)+" to "+formatFloat(high))
			return
		}
		*dst = f
	}
}

// boolean returns a decoder of true or false.
func (d *decoder) boolean(dst *bool) func(document.Node) {
	return func(n document.Node) {
		if n.Kind != document.Bool {
			d.fault(n.Pointer, "must be true or false")
			return
		}
		*dst = n.Literal() == "true"
	}
}

// text returns a decoder of a string of 1 to 256 bytes.
func (d *decoder) text(dst *string) func(document.Node) {
	return func(n document.Node) {
		s, _ := n.Text()
		if len(s) == 0 || len(s) > 256 {
			d.fault(n.Pointer, "must be a string of 1 to 256 bytes")
			return
		}
		*dst = s
	}
}

// choice returns a decoder of one of the given words; dst becomes its index.
func choice[T ~uint8](d *decoder, dst *T, words ...string) func(document.Node) {
	return func(n document.Node) {
		s, _ := n.Text()
		if i := slices.Index(words, s); i >= 0 {
			*dst = T(i)
			return
		}
		d.fault(n.Pointer, "must be one of "+strings.Join(words, ", "))
	}
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
