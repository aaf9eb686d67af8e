// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"slices"
	"strings"

	"github.com/kvsteer/kvsteer/expr/document"
)

// The field names of the document.
const (
	fieldDefault    = "default"
	fieldAlgorithms = "request_algorithms"
	fieldModels     = "models"
	fieldParameters = "request_parameters"
	fieldAlgorithm  = "algorithm"
)

// ParseConfig reads the JSON document of a static configuration. The error is
// of type Faults and holds everything that is wrong; pointer is where the
// document stands in a larger one and starts each fault's pointer.
func (c *Catalog) ParseConfig(text, pointer string) (*Config, error) {
	n, err := document.Parse([]byte(text), pointer)
	if err != nil {
		return nil, Faults{{pointer, FaultSyntax, err.Error()}}
	}
	return c.DecodeConfig(n)
}

// DecodeConfig is ParseConfig for a document that is parsed already.
func (c *Catalog) DecodeConfig(n document.Node) (*Config, error) {
	d := &documentReader{catalog: c, config: &Config{
		catalog: c, models: make(map[string]*entry), options: defaultOptions(),
	}}
	d.top(n)
	if len(d.faults) > 0 {
		return nil, d.faults
	}
	return d.config, nil
}

// documentReader reads one document.
type documentReader struct {
	catalog *Catalog
	config  *Config
	faults  Faults
}

// fault records a fault, once.
func (d *documentReader) fault(at, reason, detail string) {
	f := Fault{at, reason, detail}
	if !slices.Contains(d.faults, f) {
		d.faults = append(d.faults, f)
	}
}

// object calls visit with each member of n, which must be an object with no key
// twice.
func (d *documentReader) object(n document.Node, visit func(key string, member document.Node)) {
	if n.Kind != document.Object {
		d.fault(n.Pointer, FaultWrongType, "must be an object")
		return
	}
	seen := make(map[string]bool)
	n.Members(func(key string, member document.Node) {
		if seen[key] {
			d.fault(member.Pointer, FaultDuplicateKey, "the key stands here twice")
			return
		}
		seen[key] = true
		visit(key, member)
	})
}

// top reads the whole document. What models inherit is put in place at the end,
// so that the order of fields doesn't matter.
func (d *documentReader) top(n document.Node) {
	shared := scope{allowed: d.catalog.requests}
	var models document.Node
	d.config.fallback = &entry{own: d.preset(d.catalog.preset, fieldDefault)}
	d.object(n, func(key string, member document.Node) {
		switch key {
		case fieldDefault:
			d.config.fallback.own = d.definition(member, fieldDefault, nil)
		case fieldAlgorithms:
			shared.algorithms = d.algorithms(member, "")
		case fieldParameters:
			shared.allowed = d.parameters(member)
		case fieldModels:
			models = member
		default:
			if !d.option(key, member) {
				d.unknownField(member.Pointer)
			}
		}
	})
	if models.Kind != document.None {
		d.models(models, shared)
	}
	if d.config.fallback.own != nil {
		d.config.fallback.finish(d.catalog, scope{allowed: shared.allowed}, shared)
	}
}

func (d *documentReader) unknownField(at string) {
	fields := append([]string{fieldDefault, fieldAlgorithms, fieldModels, fieldParameters}, optionFields...)
	d.fault(at, FaultUnknownField, "no such field; fields are "+strings.Join(fields, " "))
}

// scope is what one level of the document enables.
type scope struct {
	algorithms map[*algorithm]*Static
	allowed    set
}

// finish puts in place what requests to a model may ask for: its own
// definition before its own list before the shared list.
func (e *entry) finish(c *Catalog, own, shared scope) {
	e.allowed = own.allowed
	e.bases = make([]*Static, len(c.algorithms))
	for i, a := range c.algorithms {
		if e.bases[i] = own.algorithms[a]; e.bases[i] == nil {
			e.bases[i] = shared.algorithms[a]
		}
	}
	e.bases[e.own.settings.algorithm.index] = e.own
}

// models reads the object of model ids.
func (d *documentReader) models(n document.Node, shared scope) {
	d.object(n, func(id string, member document.Node) {
		if id == "" {
			d.fault(member.Pointer, FaultEmptyModel, "a model id may not be empty")
			return
		}
		base := fieldModels + "/" + id
		own := scope{allowed: shared.allowed}
		e := &entry{own: d.definition(member, base, func(key string, field document.Node) bool {
			switch key {
			case fieldAlgorithms:
				own.algorithms = d.algorithms(field, base+"/")
			case fieldParameters:
				own.allowed = d.parameters(field)
			default:
				return false
			}
			return true
		})}
		if e.own != nil {
			e.finish(d.catalog, own, shared)
			d.config.models[id] = e
		}
	})
}

// algorithms reads an object of definitions that requests may ask for.
func (d *documentReader) algorithms(n document.Node, prefix string) map[*algorithm]*Static {
	enabled := make(map[*algorithm]*Static)
	d.object(n, func(key string, member document.Node) {
		a := d.catalog.algorithm(key)
		if a == nil {
			d.unknownAlgorithm(member.Pointer)
			return
		}
		s := d.definition(member, prefix+fieldAlgorithms+"/"+a.name, nil)
		switch {
		case enabled[a] != nil:
			d.fault(member.Pointer, FaultDuplicateAlgorithm, "another key means "+a.name+" too")
		case s != nil && s.settings.algorithm != a:
			d.fault(member.Pointer, FaultKeyMismatch, "the key means "+a.name+", the value "+s.settings.algorithm.name)
		default:
			enabled[a] = s
		}
	})
	return enabled
}

// parameters reads an allow-list.
func (d *documentReader) parameters(n document.Node) (allowed set) {
	if n.Kind != document.Array {
		d.fault(n.Pointer, FaultWrongType, "must be an array of parameter names")
		return 0
	}
	for _, member := range n.Elements() {
		name, ok := member.Text()
		id, known := d.catalog.ids[name]
		switch {
		case !ok:
			d.fault(member.Pointer, FaultWrongType, "must be a parameter name")
		case !known:
			d.fault(member.Pointer, FaultUnknownParameter, "no algorithm takes such a parameter")
		default:
			allowed.add(id)
		}
	}
	return allowed
}

func (d *documentReader) unknownAlgorithm(at string) {
	var names []string
	d.catalog.Algorithms(func(name string) { names = append(names, name) })
	d.fault(at, FaultUnknownAlgorithm, "no such algorithm; there are "+strings.Join(names, " "))
}

// preset adds a definition with the defaults of a.
func (d *documentReader) preset(a *algorithm, base string) *Static {
	s := &Static{
		catalog: d.catalog, base: base, form: []byte(base), index: len(d.config.statics),
		settings: Settings{algorithm: a, values: slices.Clone(a.defaults)},
	}
	d.config.statics = append(d.config.statics, s)
	return s
}
