// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"strconv"
)

// receipt is the value of the decision header: a structured field item
// (RFC 9651 §3.3) that names the algorithm, with what it rested on as
// parameters. Valid until the next call.
//
//	prefix-aware;endpoint="10.0.0.5:8000";match=8192;prompt=9100;final;steered
func (s *stream) receipt() []byte {
	f, d := s.filter, &s.choice
	b := append(f.text[:0], cmp.Or(s.algorithm, s.pool.Standard().Name())...)
	b = append(b, `;endpoint="`...)
	b = append(b, d.First().ID...)
	b = strconv.AppendInt(append(b, `";match=`...), int64(d.Match), 10)
	b = strconv.AppendInt(append(b, ";prompt="...), int64(d.Match+d.Uncached), 10)
	if d.Final {
		b = append(b, ";final"...)
	}
	if s.steered {
		b = append(b, ";steered"...)
	}
	f.text = b
	return b
}
