// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strconv"

	"github.com/kvsteer/kvsteer/expr"
	"github.com/kvsteer/kvsteer/policy/prefix"
)

// Control headers of ours. A client's copies have no effect: a steered request
// overwrites every line of the destination, a bypass removes it, and a
// response carries a decision only where we wrote one.
const (
	destinationHeader = "x-gateway-destination-endpoint"
	decisionHeader    = "x-kvsteer-decision"
)

// request is what the headers say of a request.
type request struct {
	shape  prefix.Shape
	why    reason // why it is not ours; none where it may be
	length int    // content-length in bytes, -1 where the body is chunked
	forged bool   // it names a destination itself

	unheld      bool // it waits for an answer before it sends its body, so it may not be held
	expressions int  // lines of the routing expression
	codes       int  // lines of a routing error, which only answers have
}

// classify reads a request's headers in one pass over the map. Of several
// reasons not to read a body the first of the list counts. t takes what
// concerns routing; it may be nil.
//
// What must not be held is told apart here: an upgrade, CONNECT, Expect or
// gRPC stream may wait for an answer before it sends its body, and an encoded
// or multipart body is no JSON text.
func classify(h headerMap, s *shapes, t *route) request {
	r := request{length: -1}
	why := noReason
	for name, value := range h.lines {
		switch string(name) {
		case ":path":
			r.shape = s.of(value)
		case ":method":
			if string(value) != "POST" {
				kind := methodReason(value)
				why = min(why, kind)
				r.unheld = r.unheld || kind == upgrade
			}
		case "upgrade", "expect":
			why = min(why, upgrade)
			r.unheld = true
		case "content-type":
			kind := contentReason(value)
			why = min(why, kind)
			r.unheld = r.unheld || kind == grpc
		case "content-encoding":
			if !bytes.EqualFold(value, []byte("identity")) {
				why = min(why, encoded)
			}
		case "content-length":
			if n, err := strconv.Atoi(string(value)); err == nil && n >= 0 {
				r.length = n
			}
		case destinationHeader:
			r.forged = true
		case expr.HeaderError:
			r.codes++
		case expr.HeaderMethod:
			r.expressions++
			fallthrough
		default:
			if t != nil {
				t.take(name, value)
			}
		}
	}
	if r.shape == 0 {
		why = min(why, otherPath)
	}
	if why != noReason {
		r.why = why
	}
	return r
}

func methodReason(method []byte) reason {
	if string(method) == "CONNECT" {
		return upgrade
	}
	return notPost
}

// contentReason returns noReason for a JSON content type. A parameter such as
// charset is ignored; a type that ends in +json is JSON (RFC 6839 §3.1).
func contentReason(value []byte) reason {
	kind, _, _ := bytes.Cut(value, []byte(";"))
	kind = bytes.TrimSpace(kind)
	switch {
	case hasPrefixFold(kind, "application/grpc"):
		return grpc
	case bytes.EqualFold(kind, []byte("application/json")), hasSuffixFold(kind, "+json"):
		return noReason
	}
	return notJSON
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && bytes.EqualFold(b[:len(prefix)], []byte(prefix))
}

func hasSuffixFold(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && bytes.EqualFold(b[len(b)-len(suffix):], []byte(suffix))
}
