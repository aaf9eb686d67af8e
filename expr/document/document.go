// SPDX-License-Identifier: Apache-2.0

// Package document reads a configuration: a JSON document becomes a tree of
// nodes that know where they stand, so that whoever finds a fault in one can
// say where. Syntax is package jsontext's, which is strict (RFC 8259, UTF-8).
//
// Not here: what a document may hold. Members that come twice are kept, for
// that is a fault among others and the reader reports all of them at once.
package document

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of a document: no configuration comes near it,
// and the tree is built by recursion.
const MaxDepth = 32

// Errors of Parse besides those of jsontext.
var (
	ErrTooDeep  = errors.New("document: nested deeper than " + strconv.Itoa(MaxDepth))
	ErrTrailing = errors.New("document: more than one value")
)

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

// Parse reads a whole document. pointer is where it stands in a larger one.
func Parse(text []byte, pointer string) (Node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	n, err := read(d, pointer, 0)
	if err != nil {
		return Node{}, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return Node{}, ErrTrailing
	}
	return n, nil
}

func read(d *jsontext.Decoder, pointer string, depth int) (n Node, err error) {
	t, err := d.ReadToken()
	if err != nil {
		return n, err
	}
	n.Pointer = pointer
	switch t.Kind() {
	case 'n':
		n.Kind = Null
	case 't', 'f':
		n.Kind, n.text = Bool, t.String()
	case '0':
		n.Kind, n.text = Number, t.String()
	case '"':
		n.Kind, n.text = String, t.String()
	case '[':
		n.Kind = Array
	case '{':
		n.Kind = Object
	}
	if n.Kind == Array || n.Kind == Object {
		if depth == MaxDepth {
			return n, ErrTooDeep
		}
		err = n.fill(d, depth)
	}
	return n, err
}

// fill reads an object's members or an array's elements, and the end.
func (n *Node) fill(d *jsontext.Decoder, depth int) error {
	for d.PeekKind() != ']' && d.PeekKind() != '}' {
		key := strconv.Itoa(len(n.children))
		if n.Kind == Object {
			t, err := d.ReadToken()
			if err != nil {
				return err
			}
			key = t.String()
			n.keys = append(n.keys, key)
		}
		child, err := read(d, n.Under(key), depth+1)
		if err != nil {
			return err
		}
		n.children = append(n.children, child)
	}
	_, err := d.ReadToken()
	return err
}

// Under returns the pointer of a member of n, whether it is there or not.
func (n Node) Under(key string) string {
	return n.Pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
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
