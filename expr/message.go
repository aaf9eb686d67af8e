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

// message is the sentence for people. It names the method, the parameter or the
// header at fault and never repeats a value.
func (r *Rejection) message() string {
	method, parameter := cut(r.Method), cut(r.Parameter)
	switch r.Code {
	case MalformedExpression:
		return strings.ReplaceAll(malformed[r.Reason], "%", parameter)
	case ExpressionTooLong:
		return HeaderMethod + " is longer than " + strconv.Itoa(MaxBytes) + " bytes"
	case UnknownMethod:
		return "unknown routing method " + method
	case MethodNotAllowed:
		return "routing method " + method + " is not enabled for this model"
	case UnknownParameter:
		return "unknown parameter " + parameter + " for " + method
	case UnsupportedParameter:
		return method + " does not take parameter " + parameter
	case ParameterNotAllowed:
		return parameter + r.permission()
	case InvalidValue:
		return parameter + " must be " + r.expected()
	case InertParameter:
		return string(r.schema.Inert.appendMessage([]byte(parameter+" has no effect "), method))
	case MissingHeader:
		return r.Header + " is required"
	case InvalidHeader:
		return r.Header + " must be " + headerRule(r.Header)
	case NoEligibleCandidates:
		return "no endpoint is registered for this model"
	case InputWorkLimitExceeded:
		return "too much prompt work is waiting for this model"
	case NoEligibleBackend:
		return "no endpoint can take the request"
	}
	return "internal routing error"
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

// expected completes "NAME must be".
func (r *Rejection) expected() string {
	p := r.schema
	switch {
	case r.Reason == FloorAboveCeil && r.partner == p.AtMost:
		return "at most " + r.partner
	case r.Reason == FloorAboveCeil:
		return "at least " + r.partner
	case r.Reason == OutOfRange && p.Type == String:
		return "at most " + strconv.FormatUint(uint64(p.Static.Max), 10) + " bytes"
	case r.Reason == OutOfRange:
		return string(appendRange(nil, p.Request))
	case p.Type == Enum:
		return "one of " + strings.Join(p.Members, " ")
	case p.Type == Uint:
		return "an unsigned integer"
	case p.Type == Number:
		return "a number with at most three decimals"
	case p.Type == Bool:
		return "true or false"
	}
	return "a text; put numbers in quotes, as in " + p.Name + `="42"`
}
