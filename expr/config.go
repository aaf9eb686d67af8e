// SPDX-License-Identifier: Apache-2.0

package expr

// Config is the operator's static configuration: a definition per model, the
// definitions that requests may ask for, and the parameters that they may set.
// It is immutable.
type Config struct {
	catalog  *Catalog
	fallback *entry            // for models without an entry of their own
	models   map[string]*entry // by exact model id
	statics  []*Static         // all definitions, by index
	options  Options
	warnings Faults
}

// Static is one configured definition.
type Static struct {
	catalog  *Catalog
	settings Settings
	base     string // where it stands, such as "models/m"
	form     []byte // base, as a key
	index    int    // in Config.statics
}

// Base returns where the definition stands in the document: "default",
// "request_algorithms/M", "models/ID" or "models/ID/request_algorithms/M".
func (s *Static) Base() string { return s.base }

// Settings returns the definition's settings, which must not be changed.
func (s *Static) Settings() *Settings { return &s.settings }

// entry is what holds for one model.
type entry struct {
	own     *Static   // its definition
	bases   []*Static // by algorithm: what an expression with it starts from, nil where it isn't enabled
	allowed set       // the parameters that expressions may set
}

// entry returns what holds for a model.
func (c *Config) entry(model string) *entry {
	if e := c.models[model]; e != nil {
		return e
	}
	return c.fallback
}

// Models returns how many models have a definition of their own.
func (c *Config) Models() int { return len(c.models) }

// Default returns the definition of all other models.
func (c *Config) Default() *Static { return c.fallback.own }

// Warnings returns what is valid but without effect in the document.
func (c *Config) Warnings() Faults { return c.warnings }

// Fault is one thing that is wrong with a document.
type Fault struct {
	Pointer string // JSON pointer (RFC 6901) of what is wrong or missing
	Reason  string // one of the constants below
	Detail  string // for people
}

// The reasons of a Fault. The list is closed.
const (
	FaultSyntax             = "not_json"
	FaultDuplicateKey       = "duplicate_key"
	FaultUnknownField       = "unknown_field"
	FaultUnsupportedField   = "unsupported_field"
	FaultWrongType          = "wrong_type"
	FaultOutOfRange         = "out_of_range"
	FaultNotInSet           = "not_in_set"
	FaultMissing            = "missing"
	FaultUnknownAlgorithm   = "unknown_algorithm"
	FaultKeyMismatch        = "key_mismatch"
	FaultDuplicateAlgorithm = "duplicate_algorithm"
	FaultFloorAboveCeil     = "floor_above_ceil"
	FaultUnknownParameter   = "unknown_parameter"
	FaultEmptyModel         = "empty_model"
	FaultInert              = "inert" // a warning only
)

// Error returns the fault as "/pointer: reason: detail".
func (f Fault) Error() string { return f.Pointer + ": " + f.Reason + ": " + f.Detail }

// Faults are all faults of a document, in its order.
type Faults []Fault

// Error returns one line per fault.
func (f Faults) Error() string {
	var b []byte
	for i := range f {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, f[i].Error()...)
	}
	return string(b)
}

// Unwrap returns the faults one by one.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i := range f {
		errs[i] = f[i]
	}
	return errs
}
