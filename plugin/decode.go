// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
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
type fields map[string]func(v gjson.Result, at string)

func (d *decoder) fault(at, text string) {
	d.faults = append(d.faults, fault{at, text})
}

// object decodes v's members. Unknown and repeated members are faults.
func (d *decoder) object(v gjson.Result, at string, known fields) {
	if !v.IsObject() {
		d.fault(at, "must be an object")
		return
	}
	seen := map[string]bool{}
	v.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
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
		return true
	})
}

// require reports the members of v that are missing.
func (d *decoder) require(v gjson.Result, at string, names ...string) {
	if !v.IsObject() {
		return
	}
	for _, name := range names {
		if !v.Get(name).Exists() {
			d.fault(at+"/"+name, "is required")
		}
	}
}

// list decodes each element of an array.
func (d *decoder) list(v gjson.Result, at string, element func(v gjson.Result, at string)) {
	if !v.IsArray() {
		d.fault(at, "must be an array")
		return
	}
	for i, e := range v.Array() {
		element(e, at+"/"+strconv.Itoa(i))
	}
}

// integer returns a decoder of a whole number within [low, high].
func (d *decoder) integer(dst *int, low, high int) func(gjson.Result, string) {
	return func(v gjson.Result, at string) {
		n, err := strconv.Atoi(v.Raw)
		if v.Type != gjson.Number || err != nil || n < low || n > high {
			d.fault(at, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
			return
		}
		*dst = n
	}
}

// number returns a decoder of a number within [low, high].
func (d *decoder) number(dst *float64, low, high float64) func(gjson.Result, string) {
	return func(v gjson.Result, at string) {
		if v.Type != gjson.Number || math.IsNaN(v.Num) || v.Num < low || v.Num > high {
			d.fault(at, "must be a number from "+formatFloat(low)+" to "+formatFloat(high))
			return
		}
		*dst = v.Num
	}
}

// boolean returns a decoder of true or false.
func (d *decoder) boolean(dst *bool) func(gjson.Result, string) {
	return func(v gjson.Result, at string) {
		if !v.IsBool() {
			d.fault(at, "must be true or false")
			return
		}
		*dst = v.Bool()
	}
}

// text returns a decoder of a string of 1 to 256 bytes.
func (d *decoder) text(dst *string) func(gjson.Result, string) {
	return func(v gjson.Result, at string) {
		if v.Type != gjson.String || v.Str == "" || len(v.Str) > 256 {
			d.fault(at, "must be a string of 1 to 256 bytes")
			return
		}
		*dst = v.Str
	}
}

// choice returns a decoder of one of the given words; dst becomes its index.
func choice[T ~uint8](d *decoder, dst *T, words ...string) func(gjson.Result, string) {
	return func(v gjson.Result, at string) {
		for i, w := range words {
			if v.Type == gjson.String && v.Str == w {
				*dst = T(i)
				return
			}
		}
		d.fault(at, "must be one of "+strings.Join(words, ", "))
	}
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// escapePointer escapes one reference token (RFC 6901 §3).
func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
