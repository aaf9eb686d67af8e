// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"
)

// malformed holds the sentence of each reason of MalformedExpression; %
// stands for the parameter.
var malformed = [reasonCount]string{
	MultipleLines:  HeaderMethod + " may appear only once",
	Charset:        HeaderMethod + " may hold only printable ASCII",
	Comma:          HeaderMethod + " may not hold a comma, not even in quotes",
	Empty:          HeaderMethod + " is empty",
	MethodNotToken: HeaderMethod + " must start with the name of a method",
	TrailingData:   "expected ; or the end of " + HeaderMethod,
	BadKey:         "expected a parameter name of lower case letters after ;",
	DuplicateKey:   "parameter % appears twice",
	NativeBoolean:  "write %=true or %=false",
	StringSyntax:   "the quoted value of % is not complete or has an unknown escape",
	StringContent:  "the quoted value of % may not hold a semicolon",
	NumberSyntax:   "the number of % is not complete or has too many digits; larger integers go into quotes",
	ValueType:      "the value of % must be a number, a name or a quoted text",
	ValueSyntax:    "% has no value",
}

// appendMessage appends the sentence for people. It names the method, the
// parameter or the header at fault and never repeats a value.
func (r *Rejection) appendMessage(dst []byte) []byte {
	method, parameter := cut(r.Method), cut(r.Parameter)
	say := func(parts ...string) []byte {
		for _, s := range parts {
			dst = append(dst, s...)
		}
		return dst
	}
	switch r.Code {
	case MalformedExpression:
		return say(strings.ReplaceAll(malformed[r.Reason], "%", parameter))
	case ExpressionTooLong:
		return say(HeaderMethod, " is longer than ", strconv.Itoa(MaxBytes), " bytes")
	case UnknownMethod:
		return say("unknown routing method ", method)
	case MethodNotAllowed:
		return say("routing method ", method, " is not enabled for this model")
	case UnknownParameter:
		return say("unknown parameter ", parameter, " for ", method)
	case UnsupportedParameter:
		return say(method, " does not take parameter ", parameter)
	case ParameterNotAllowed:
		return say(parameter, r.permission())
	case InvalidValue:
		return r.appendExpected(say(parameter, " must be "))
	case InertParameter:
		return r.schema.Inert.appendMessage(say(parameter, " has no effect "), method)
	case MissingHeader:
		return say(r.Header, " is required")
	case InvalidHeader:
		return say(r.Header, " must be ", headerRule(r.Header))
	case NoEligibleCandidates:
		return say("no endpoint is registered for this model")
	case InputWorkLimitExceeded:
		return say("too much prompt work is waiting for this model")
	case NoEligibleBackend:
		return say("no endpoint can take the request")
	}
	return say("internal routing error")
}

// permission says why a request may not set a parameter.
func (r *Rejection) permission() string {
	switch {
	case r.Reason == NotListed:
		return " may not be set by a request"
	case r.schema.Tighten == OnlyLower:
		return " may not be raised by a request"
	}
	return " may not be switched off by a request"
}

// appendExpected completes "NAME must be".
func (r *Rejection) appendExpected(dst []byte) []byte {
	p := r.schema
	switch {
	case r.Reason == FloorAboveCeil && r.partner == p.AtMost:
		return append(append(dst, "at most "...), r.partner...)
	case r.Reason == FloorAboveCeil:
		return append(append(dst, "at least "...), r.partner...)
	case r.Reason == OutOfRange && p.Type == String:
		return append(appendUint(append(dst, "at most "...), uint64(p.Static.Max)), " bytes"...)
	case r.Reason == OutOfRange:
		return appendRange(dst, p.Request)
	case r.Reason == NotInSet:
		return append(append(dst, "one of "...), strings.Join(p.Members, " ")...)
	}
	switch p.Type {
	case Uint:
		return append(dst, "an unsigned integer"...)
	case Number:
		return append(dst, "a number with at most three decimals"...)
	case Bool:
		return append(dst, "true or false"...)
	case Enum:
		return append(append(dst, "one of "...), strings.Join(p.Members, " ")...)
	}
	dst = append(dst, "a text; put numbers in quotes, as in "...)
	return append(append(dst, p.Name...), `="42"`...)
}
