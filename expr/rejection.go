// SPDX-License-Identifier: Apache-2.0

package expr

import "strconv"

// Code is the stable name of a rejection: the value of the response header
// x-routing-error and of the body's "code". The list is closed, so a code may
// be a metric label.
type Code uint8

// The codes, with the status each one answers.
const (
	MalformedExpression Code = iota + 1
	ExpressionTooLong
	UnknownMethod
	MethodNotAllowed
	UnknownParameter
	UnsupportedParameter
	ParameterNotAllowed
	InvalidValue
	InertParameter
	MissingHeader
	InvalidHeader
	NoEligibleCandidates
	InputWorkLimitExceeded
	NoEligibleBackend
	InternalError
	codeCount
)

var codes = [codeCount + 1]struct {
	name   string
	status int
}{
	MalformedExpression:    {"malformed_expression", 400},
	ExpressionTooLong:      {"expression_too_long", 400},
	UnknownMethod:          {"unknown_method", 400},
	MethodNotAllowed:       {"method_not_allowed", 400},
	UnknownParameter:       {"unknown_parameter", 400},
	UnsupportedParameter:   {"unsupported_parameter", 400},
	ParameterNotAllowed:    {"parameter_not_allowed", 400},
	InvalidValue:           {"invalid_value", 400},
	InertParameter:         {"inert_parameter", 400},
	MissingHeader:          {"missing_header", 400},
	InvalidHeader:          {"invalid_header", 400},
	NoEligibleCandidates:   {"no_eligible_candidates", 404},
	InputWorkLimitExceeded: {"input_work_limit_exceeded", 503},
	NoEligibleBackend:      {"no_eligible_backend", 503},
	InternalError:          {"internal_error", 500},
}

// String returns the name on the wire, "" for 0.
func (c Code) String() string { return codes[min(c, codeCount)].name }

// Status returns the HTTP status of the local reply.
func (c Code) Status() int { return codes[min(c, codeCount)].status }

// Codes calls visit with each code, for a metric per code.
func Codes(visit func(Code)) {
	for c := MalformedExpression; c < codeCount; c++ {
		visit(c)
	}
}

// Reason says more about a code. The list is closed; 0 is no reason.
type Reason uint8

// The reasons, grouped by the code they go with.
const (
	MultipleLines Reason = iota + 1 // MalformedExpression
	Charset
	Comma
	Empty
	MethodNotToken
	TrailingData
	BadKey
	DuplicateKey
	NativeBoolean
	StringSyntax
	StringContent
	NumberSyntax
	ValueType
	ValueSyntax
	WrongType // InvalidValue
	OutOfRange
	NotInSet
	FloorAboveCeil
	NotListed // ParameterNotAllowed
	LoosensPolicy
	reasonCount
)

var reasons = [reasonCount + 1]string{
	MultipleLines:  "multiple_lines",
	Charset:        "charset",
	Comma:          "comma",
	Empty:          "empty",
	MethodNotToken: "method_not_token",
	TrailingData:   "trailing_data",
	BadKey:         "bad_key",
	DuplicateKey:   "duplicate_key",
	NativeBoolean:  "native_boolean",
	StringSyntax:   "string_syntax",
	StringContent:  "string_content",
	NumberSyntax:   "number_syntax",
	ValueType:      "value_type",
	ValueSyntax:    "value_syntax",
	WrongType:      "wrong_type",
	OutOfRange:     "out_of_range",
	NotInSet:       "not_in_set",
	FloorAboveCeil: "floor_above_ceil",
	NotListed:      "not_listed",
	LoosensPolicy:  "loosens_policy",
}

// String returns the name on the wire, "" for 0.
func (r Reason) String() string { return reasons[min(r, reasonCount)] }

// Reasons calls visit with each reason.
func Reasons(visit func(Reason)) {
	for r := MultipleLines; r < reasonCount; r++ {
		visit(r)
	}
}

// Rejection is why a request is answered by the proxy itself. A nil Rejection
// is none.
type Rejection struct {
	Code      Code
	Reason    Reason // 0: the code says it all
	Method    string // the algorithm it is about, of UnknownMethod the method as it was written; "" for none
	Parameter string // the whole key it is about, "" for none
	Header    string // MissingHeader and InvalidHeader: the header's name
	Offset    int    // MalformedExpression: byte of the header value, else -1

	schema  *Parameter // what Parameter may hold; nil where that isn't at issue
	partner string     // FloorAboveCeil: the other parameter of the pair
}

// Error returns the sentence of the body.
func (r *Rejection) Error() string { return r.message() }

// Algorithm returns the canonical name of the algorithm it is about, "unknown"
// where none was resolved, so that it may be a metric label.
func (r *Rejection) Algorithm() string {
	if r.Method == "" || r.Code == UnknownMethod {
		return "unknown"
	}
	return r.Method
}

// maxEcho bounds how much of a client's text comes back to it.
const maxEcho = 64

// AppendBody appends the JSON object that is the body of the local reply.
// It never repeats a value, and cuts names at 64 bytes.
func (r *Rejection) AppendBody(dst []byte) []byte {
	dst = appendMember(append(dst, '{'), "error", r.message())
	dst = appendMember(append(dst, ','), "code", r.Code.String())
	for _, m := range [...][2]string{
		{"reason", r.Reason.String()}, {"parameter", cut(r.Parameter)}, {"header", r.Header},
	} {
		if m[1] != "" {
			dst = appendMember(append(dst, ','), m[0], m[1])
		}
	}
	return append(dst, '}')
}

// appendMember appends a member of a JSON object.
func appendMember(dst []byte, name, value string) []byte {
	dst = append(dst, `"`+name+`":"`...)
	return append(appendEscaped(dst, value), '"')
}

// cut bounds an echoed name.
func cut(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return s[:maxEcho] + "..."
}

// appendEscaped appends s as the inside of a JSON string.
func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case foreign.is(b):
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[b>>4], hex[b&15])
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

// AppendLogged appends a raw header value for a log line: its first 128 bytes,
// with quotes, backslashes and all that isn't printable ASCII as \xNN.
func AppendLogged(dst []byte, raw string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < min(len(raw), 128); i++ {
		b := raw[i]
		if b == '"' || b == '\\' || foreign.is(b) {
			dst = append(dst, '\\', 'x', hex[b>>4], hex[b&15])
			continue
		}
		dst = append(dst, b)
	}
	return dst
}

// appendRange appends what numbers r admits, such as "1 to 1024".
func appendRange(dst []byte, r Range) []byte {
	number := func(f float64) { dst = strconv.AppendFloat(dst, f, 'f', -1, 64) }
	switch {
	case r.Open:
		dst = append(dst, "above "...)
		number(r.Min)
	case r.Max == maxUint64:
		number(r.Min)
		dst = append(dst, " to 18446744073709551615"...)
	case r.Max > maxUint64:
		dst = append(dst, "at least "...)
		number(r.Min)
	default:
		number(r.Min)
		dst = append(dst, " to "...)
		number(r.Max)
	}
	return dst
}
