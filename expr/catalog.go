// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"errors"
	"slices"
	"sort"
	"strings"
)

// Catalog holds all algorithms of a program and the names they go by. It is
// immutable.
type Catalog struct {
	algorithms []*algorithm
	spellings  map[string]*algorithm // canonical names and aliases
	longest    int                   // the longest spelling
	preset     *algorithm            // where a document has no default
	ids        map[string]int        // parameter name → id, in byte order of the names
	requests   set                   // parameters that expressions may set unless the operator says otherwise
}

// algorithm is an Algorithm with what follows from its declaration.
type algorithm struct {
	name     string
	index    int
	stateful bool
	params   []Parameter // by name, in byte order
	ids      []int       // of params
	places   [maxNames]int8
	defaults []Value
	atMost   []int // of params: the place of AtMost, -1 for none
	inert    []int // of params: the place that Inert depends on, -1 for none
}

// maxNames bounds the different parameter names of a catalog.
const maxNames = 64

// set is a set of parameter ids.
type set uint64

func (s set) has(id int) bool { return s>>id&1 != 0 }

func (s *set) add(id int) { *s |= 1 << id }

// The faults of a catalog. They are mistakes in a program, not in its input.
var (
	ErrName     = errors.New("expr: a name is empty, not canonical or taken")
	ErrTooMany  = errors.New("expr: more than 64 parameter names")
	ErrSchema   = errors.New("expr: parameters of one name differ in type, members or operator")
	ErrRange    = errors.New("expr: a default or the request range is outside the static range")
	ErrRelation = errors.New("expr: a parameter refers to one that its algorithm does not take")
	ErrPreset   = errors.New("expr: no algorithm has the default's name")
)

// NewCatalog returns the catalog of the given algorithms. preset names the one
// that documents without a default get. It reports all faults at once.
func NewCatalog(preset string, algorithms []Algorithm) (*Catalog, error) {
	c := &Catalog{spellings: make(map[string]*algorithm), ids: make(map[string]int)}
	faults := c.collectNames(algorithms)
	if len(c.ids) > maxNames {
		return nil, ErrTooMany
	}
	for _, declared := range algorithms {
		a, err := c.newAlgorithm(declared)
		faults = append(faults, err)
		c.algorithms = append(c.algorithms, a)
		for _, name := range append([]string{declared.Name}, declared.Aliases...) {
			if taken := c.spellings[name] != nil; taken || !isCanonicalName(name) {
				faults = append(faults, ErrName)
			}
			c.spellings[name] = a
			c.longest = max(c.longest, len(name))
		}
	}
	if c.preset = c.spellings[preset]; c.preset == nil || c.preset.name != preset {
		faults = append(faults, ErrPreset)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return c, nil
}

// collectNames numbers all parameter names in byte order, so that an ascending
// walk over ids is the order of the canonical form.
func (c *Catalog) collectNames(algorithms []Algorithm) (faults []error) {
	declared := make(map[string]*Parameter)
	var names []string
	for a := range algorithms {
		for i := range algorithms[a].Parameters {
			p := &algorithms[a].Parameters[i]
			if first := declared[p.Name]; first == nil {
				declared[p.Name] = p
				at, _ := slices.BinarySearch(names, p.Name)
				names = slices.Insert(names, at, p.Name)
			} else if !first.sameMeaning(p) {
				faults = append(faults, ErrSchema)
			}
		}
	}
	for id, name := range names {
		c.ids[name] = id
		if !isKey(name) {
			faults = append(faults, ErrName)
		}
		if id < maxNames && !declared[name].Operator {
			c.requests.add(id)
		}
	}
	return faults
}

func (p *Parameter) sameMeaning(q *Parameter) bool {
	return p.Type == q.Type && slices.Equal(p.Members, q.Members) && p.Operator == q.Operator
}

// byName sorts parameters. Package sort is not generic, so that all sorting
// shares one copy of its code in the module.
type byName []Parameter

func (p byName) Len() int           { return len(p) }
func (p byName) Less(i, j int) bool { return p[i].Name < p[j].Name }
func (p byName) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }

func (c *Catalog) newAlgorithm(declared Algorithm) (*algorithm, error) {
	a := &algorithm{name: declared.Name, index: len(c.algorithms), stateful: declared.Stateful, params: slices.Clone(declared.Parameters)}
	sort.Sort(byName(a.params))
	for i := range a.places {
		a.places[i] = -1
	}
	var faults []error
	for i := range a.params {
		p := &a.params[i]
		id := c.ids[p.Name]
		if a.places[id] >= 0 {
			faults = append(faults, ErrName)
		}
		a.places[id] = int8(i)
		a.ids = append(a.ids, id)
		a.defaults = append(a.defaults, p.Default)
		if !p.rangesHold() {
			faults = append(faults, ErrRange)
		}
	}
	for i := range a.params {
		atMost, err1 := a.relation(a.params[i].AtMost)
		inert, err2 := a.relation(a.params[i].Inert.other)
		a.atMost, a.inert = append(a.atMost, atMost), append(a.inert, inert)
		faults = append(faults, err1, err2)
	}
	return a, errors.Join(faults...)
}

// relation returns the place of another parameter, -1 for none.
func (a *algorithm) relation(name string) (int, error) {
	if name == "" {
		return -1, nil
	}
	for i := range a.params {
		if a.params[i].Name == name {
			return i, nil
		}
	}
	return -1, ErrRelation
}

// rangesHold reports whether the configuration accepts the default and all that
// an expression may ask for.
func (p *Parameter) rangesHold() bool {
	switch p.Type {
	case Uint:
		return p.Request.within(p.Static) && (!p.Default.set || p.Static.has(float64(p.Default.Uint())))
	case Number:
		return p.Request.within(p.Static) && (!p.Default.set || p.Static.has(p.Default.Number()))
	case Enum:
		return p.Default.Uint() < uint64(len(p.Members))
	}
	return p.Type == Bool || p.Type == String
}

// isCanonicalName reports whether normalising name would not change it and an
// expression can hold it.
func isCanonicalName(name string) bool {
	return isToken(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return r == '_' || r >= 'A' && r <= 'Z'
	})
}

// algorithm returns the algorithm that a spelling names, nil for none. Case and
// "_" for "-" don't matter. It does not allocate.
func (c *Catalog) algorithm(spelling string) *algorithm {
	var buf [64]byte
	if len(spelling) > min(c.longest, len(buf)) {
		return nil
	}
	for i := 0; i < len(spelling); i++ {
		b := spelling[i]
		switch {
		case b == '_':
			b = '-'
		case b >= 'A' && b <= 'Z':
			b += 'a' - 'A'
		}
		buf[i] = b
	}
	return c.spellings[string(buf[:len(spelling)])]
}

// Algorithms calls visit with the canonical name of each algorithm, in the order
// of their declarations.
func (c *Catalog) Algorithms(visit func(name string)) {
	for _, a := range c.algorithms {
		visit(a.name)
	}
}

// parameter returns the declaration of the parameter with this id, nil where
// the algorithm does not take it.
func (a *algorithm) parameter(id int) (place int, p *Parameter) {
	place = int(a.places[id])
	if place < 0 {
		return place, nil
	}
	return place, &a.params[place]
}
