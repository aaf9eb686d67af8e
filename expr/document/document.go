// SPDX-License-Identifier: Apache-2.0

// Package document reads a configuration: a JSON document becomes a tree of
// nodes that know where they stand, so that whoever finds a fault in one can
// say where. Syntax is strict: RFC 8259, UTF-8, no lone surrogates.
//
// The parser is its own because the module's size is bounded, and a general
// one (encoding/json, or the smallest that there is) takes twenty times as much.
//
// Not here: what a document may hold. Members that come twice are kept, for
// that is a fault among others and the reader reports all of them at once.
package document

// MaxDepth bounds the nesting of a document: no configuration comes near it,
// and the tree is built by recursion.
const MaxDepth = 32

// Kind is a kind of JSON value.
type Kind uint8

// The kinds; the zero Node is of kind None.
const (
	None Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// Node is a value of a document.
type Node struct {
	Kind    Kind
	Pointer string // JSON pointer (RFC 6901)

	text     string   // a string's characters; a number or boolean as written
	keys     []string // of an object's members
	children []Node   // an object's values or an array's elements
}

// Under returns the pointer of a member of n, whether it is there or not.
//
//go:noinline
func (n Node) Under(key string) string {
	b := append([]byte(n.Pointer), '/')
	for i := range len(key) {
		switch key[i] {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, key[i])
		}
	}
	return string(b)
}

// Text returns a string; ok tells whether n is one.
func (n Node) Text() (text string, ok bool) {
	if n.Kind != String {
		return "", false
	}
	return n.text, true
}

// Literal returns a number or a boolean as it is written, "" of other kinds.
func (n Node) Literal() string {
	if n.Kind != Number && n.Kind != Bool {
		return ""
	}
	return n.text
}

// Members calls visit with each member of an object, in order.
func (n Node) Members(visit func(key string, v Node)) {
	for i, key := range n.keys {
		visit(key, n.children[i])
	}
}

// Member returns an object's first member of that name, of kind None if there
// is none.
func (n Node) Member(key string) Node {
	for i, k := range n.keys {
		if k == key {
			return n.children[i]
		}
	}
	return Node{}
}

// Elements returns an array's elements.
func (n Node) Elements() []Node {
	if n.Kind != Array {
		return nil
	}
	return n.children
}
