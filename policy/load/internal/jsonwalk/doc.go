// SPDX-License-Identifier: Apache-2.0

// Package jsonwalk reads a JSON document in windows and hands the values that a schema names to
// its callbacks.
//
//	windows → tokens → position in the schema → callbacks on a target
//	                   └ what the schema does not name is skipped
//
// The document may be cut into windows at any byte; the callbacks are the same for every cut.
// Memory is constant: a string longer than MaxText is handed on as its beginning, and depth is
// bounded by the schema, since deeper values are skipped by counting brackets.
//
// What is walked is checked against RFC 8259, except that text need not be valid UTF-8. What is
// skipped is only checked for ended strings and for brackets in equal number: a document that is
// wrong only there is taken as right. Of members with the same name, each is handed on.
package jsonwalk

import "errors"

// MaxText is the largest number of bytes of a string that a callback sees.
const MaxText = 512

// maxDepth is the deepest schema that New takes.
const maxDepth = 12

// Faults of a document and of a schema.
var (
	ErrSyntax = errors.New("jsonwalk: not JSON")
	ErrCut    = errors.New("jsonwalk: document ends early")
	ErrDepth  = errors.New("jsonwalk: schema too deep")
)

// Node says what to do with one value of a document. A value that the node does not provide for
// (an object for a node without Members and Other, say) is skipped.
type Node[T any] struct {
	Members  []Member[T] // an object's members; others are skipped
	Other    *Node[T]    // an object's members that Members does not name
	Elements *Node[T]    // an array's elements

	Begin func(t *T) // before the first member or element
	End   func(t *T) // after the last member or element, also where the rest was skipped

	// Scalar takes a string, number, true, false or null. Where it returns false, the rest of
	// the object or array around the value is skipped.
	Scalar func(t *T, v Value) bool
}

// Member is a named member of an object.
type Member[T any] struct {
	Name string
	Node *Node[T]
}

// Kind is the type of a scalar.
type Kind uint8

// The scalars of JSON.
const (
	Null Kind = iota
	False
	True
	Number
	String
)

// Value is a scalar. Its bytes are valid during the callback only.
type Value struct {
	Kind Kind
	Text []byte // a string decoded, anything else as written
	Cut  bool   // Text is only the beginning of a longer string
	Name []byte // the member's name, for values of an Other node; nil elsewhere
}
