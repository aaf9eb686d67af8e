// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fastjson"
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

// fields names the members an object may have and how each is decoded.
type fields map[string]func(v *fastjson.Value, at string)

func (d *decoder) fault(at, text string) {
	d.faults = append(d.faults, fault{at, text})
}

// object decodes v's members. Unknown and repeated members are faults.
func (d *decoder) object(v *fastjson.Value, at string, known fields) {
	o, err := v.Object()
	if err != nil {
		d.fault(at, "must be an object")
		return
	}
	seen := map[string]bool{}
	o.Visit(func(key []byte, value *fastjson.Value) {
		name := string(key)
		below := at + "/" + escapePointer(name)
		decode, ok := known[name]
		switch {
		case !ok:
			d.fault(below, "unknown field")
		case seen[name]:
			d.fault(below, "appears twice")
		default:
			decode(value, below)
		}
		seen[name] = true
	})
}

// require reports the members of v that are missing.
func (d *decoder) require(v *fastjson.Value, at string, names ...string) {
	if v.Type() != fastjson.TypeObject {
		return
	}
	for _, name := range names {
		if !v.Exists(name) {
			d.fault(at+"/"+name, "is required")
		}
	}
}

// list decodes each element of an array.
func (d *decoder) list(v *fastjson.Value, at string, element func(v *fastjson.Value, at string)) {
	list, err := v.Array()
	if err != nil {
		d.fault(at, "must be an array")
		return
	}
	for i, e := range list {
		element(e, at+"/"+strconv.Itoa(i))
	}
}

// integer returns a decoder of a whole number within [low, high].
func (d *decoder) integer(dst *int, low, high int) func(*fastjson.Value, string) {
	return func(v *fastjson.Value, at string) {
		n, err := strconv.Atoi(string(v.MarshalTo(nil)))
		if v.Type() != fastjson.TypeNumber || err != nil || n < low || n > high {
			d.fault(at, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
			return
		}
		*dst = n
	}
}

// number returns a decoder of a number within [low, high].
func (d *decoder) number(dst *float64, low, high float64) func(*fastjson.Value, string) {
	return func(v *fastjson.Value, at string) {
		n, err := v.Float64()
		if err != nil || math.IsNaN(n) || n < low || n > high {
			d.fault(at, "must be a number from "+formatFloat(low)+" to "+formatFloat(high))
			return
		}
		*dst = n
	}
}

// boolean returns a decoder of true or false.
func (d *decoder) boolean(dst *bool) func(*fastjson.Value, string) {
	return func(v *fastjson.Value, at string) {
		b, err := v.Bool()
		if err != nil {
			d.fault(at, "must be true or false")
			return
		}
		*dst = b
	}
}

// text returns a decoder of a string of 1 to 256 bytes.
func (d *decoder) text(dst *string) func(*fastjson.Value, string) {
	return func(v *fastjson.Value, at string) {
		s, err := v.StringBytes()
		if err != nil || len(s) == 0 || len(s) > 256 {
			d.fault(at, "must be a string of 1 to 256 bytes")
			return
		}
		*dst = string(s)
	}
}

// choice returns a decoder of one of the given words; dst becomes its index.
func choice[T ~uint8](d *decoder, dst *T, words ...string) func(*fastjson.Value, string) {
	return func(v *fastjson.Value, at string) {
		s, err := v.StringBytes()
		if i := slices.Index(words, string(s)); err == nil && i >= 0 {
			*dst = T(i)
			return
		}
		d.fault(at, "must be one of "+strings.Join(words, ", "))
	}
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// escapePointer escapes one reference token (RFC 6901 §3).
func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
