// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"strconv"

	"github.com/kvsteer/kvsteer/policy/load/internal/decimal"
)

// Custom is a configured metric name for a field.
type Custom struct {
	Field   Field
	Name    string // the whole name, prefix included
	Label   string // where set, only series with Label="Value" count
	Value   string
	Percent bool // a ratio is given in percent; else what is over 1 is taken as percent
}

// Faults of a Custom.
var (
	ErrName  = errors.New("not a metric name")
	ErrLabel = errors.New("not a label name")
	ErrField = errors.New("not a field that a metric can give")
)

// CustomError is a fault of one entry of the configured names.
type CustomError struct {
	Index int
	Err   error // ErrName, ErrLabel or ErrField
}

func (e *CustomError) Error() string {
	return "metrics: name " + strconv.Itoa(e.Index) + ": " + e.Err.Error()
}

func (e *CustomError) Unwrap() error { return e.Err }

func compile(custom []Custom) (map[string][]metric, error) {
	named := make(map[string][]metric, len(custom))
	var faults []error
	for i := range custom {
		c := &custom[i]
		if err := c.check(); err != nil {
			faults = append(faults, &CustomError{i, err})
			continue
		}
		named[c.Name] = append(named[c.Name], metric{
			field: c.Field, rule: c.Field.usualRule(), rank: customRank,
			label: c.Label, value: c.Value, percent: c.Percent,
		})
	}
	return named, errors.Join(faults...)
}

func (c *Custom) check() error {
	switch {
	case c.Field >= Adapters:
		return ErrField
	case !isName(c.Name, ":"):
		return ErrName
	case c.Label != "" && !isName(c.Label, ""):
		return ErrLabel
	case c.Label == "" && c.Value != "":
		return ErrLabel
	}
	return nil
}

// isName reports whether s has letters, digits, underscores and extra only, and no digit first.
func isName(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || extra != "" && c == extra[0]
		if !letter && (i == 0 || c-'0' > 9) {
			return false
		}
	}
	return s != ""
}

// readCount reads a number that is not negative.
func readCount(b []byte) (n float64, ok bool) {
	n, ok = decimal.Parse(b)
	return n, ok && n >= 0
}
