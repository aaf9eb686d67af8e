// SPDX-License-Identifier: Apache-2.0

package prefix

// Reason says why a body has no fingerprint. The list is closed; the zero Reason is "none so far".
// A reason is final: what comes after it in the body is counted in Raw and not looked at.
type Reason uint8

const (
	ReasonNone      Reason = iota
	ReasonShape            // Reset was given no known shape
	ReasonEmpty            // no byte, or white space only
	ReasonNotJSON          // not JSON as RFC 8259 has it: a syntax fault, a raw control byte, a second value
	ReasonUTF8             // a string is not UTF-8
	ReasonTruncated        // the body ended inside the JSON value
	ReasonNotObject        // JSON, but not an object
	ReasonNoPrompt         // the object has no key that carries a prompt in this shape
	ReasonBadPrompt        // a key that carries the prompt has a value of the wrong type
	ReasonDuplicate        // a key that had been hashed already came again
	ReasonTooDeep          // nested deeper than MaxDepth, or MaxHashedDepth inside a hashed value
	reasons
)

var reasonNames = [reasons]string{
	"none", "shape", "empty_body", "not_json", "not_utf8", "truncated", "not_object",
	"no_prompt", "bad_prompt", "duplicate_key", "too_deep",
}

// String returns a name that is safe in metric names and labels.
func (r Reason) String() string {
	if r >= reasons {
		return "unknown"
	}
	return reasonNames[r]
}
