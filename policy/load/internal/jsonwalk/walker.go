// SPDX-License-Identifier: Apache-2.0

package jsonwalk

// state is what the grammar allows next.
type state uint8

const (
	wantValue   state = iota
	wantElement       // a value, or the array's end
	wantName          // a member's name
	wantMember        // a member's name, or the object's end
	wantColon
	wantNext // a comma, or the end of the object or array
	wantNothing
)

// token is what the next byte belongs to.
type token uint8

const (
	noToken token = iota
	stringToken
	bareToken // number, true, false, null
	skipped   // a value, or the rest of one, that nobody wants
)

// frame is an object or array that is open.
type frame[T any] struct {
	node  *Node[T]
	array bool
}

// Walker walks one document after the other. Not safe for concurrent use.
type Walker[T any] struct {
	root   *Node[T]
	target *T

	state state
	token token
	node  *Node[T] // for the value that comes next; nil: skip it
	open  []frame[T]
	err   error

	text text
	name []byte // of the member that comes next, for Other nodes

	// A skip ends when nested is 0.
	nested   int
	quoted   bool // in a string
	escaped  bool // after a backslash
	leftover bool // what is skipped is the rest of the open value, not a value in it
}

// New returns a walker for documents as root describes them, with the callbacks' target.
func New[T any](root *Node[T], target *T) (*Walker[T], error) {
	if depth(root, 0) > maxDepth {
		return nil, ErrDepth
	}
	w := &Walker[T]{root: root, target: target}
	w.open = make([]frame[T], 0, maxDepth)
	w.name = make([]byte, 0, MaxText)
	w.Reset()
	return w, nil
}

func depth[T any](n *Node[T], above int) int {
	if n == nil || above > maxDepth {
		return above
	}
	deepest := max(depth(n.Other, above+1), depth(n.Elements, above+1))
	for _, m := range n.Members {
		deepest = max(deepest, depth(m.Node, above+1))
	}
	return deepest
}

// Reset begins a document.
func (w *Walker[T]) Reset() {
	w.state, w.token, w.node, w.err = wantValue, noToken, w.root, nil
	w.open = w.open[:0]
}

// Write takes the next window. After an error it does nothing and returns the error again.
func (w *Walker[T]) Write(p []byte) error {
	for len(p) > 0 && w.err == nil {
		n := 0
		switch w.token {
		case noToken:
			n = w.punctuation(p)
		case stringToken:
			n = w.readString(p)
		case bareToken:
			n = w.readBare(p)
		case skipped:
			n = w.skip(p)
		}
		p = p[n:]
	}
	return w.err
}

// Close ends the document: ErrCut where it is not complete.
func (w *Walker[T]) Close() error {
	if w.err == nil && w.token == bareToken {
		w.endBare()
	}
	if w.err == nil && (w.state != wantNothing || w.token != noToken) {
		w.err = ErrCut
	}
	return w.err
}

// punctuation takes white space and then one byte, or none where a bare token begins.
func (w *Walker[T]) punctuation(p []byte) int {
	i := 0
	for i < len(p) && isSpace(p[i]) {
		i++
	}
	if i == len(p) {
		return i
	}
	c := p[i]
	value := w.state == wantValue || w.state == wantElement
	switch {
	case c == '"' && (value || w.state == wantName || w.state == wantMember):
		w.token = stringToken
		w.text.reset()
	case (c == '{' || c == '[') && value:
		w.begin(c == '[')
	case c == ']' && (w.state == wantElement || w.state == wantNext):
		w.end(true)
	case c == '}' && (w.state == wantMember || w.state == wantNext):
		w.end(false)
	case c == ':' && w.state == wantColon:
		w.state = wantValue
	case c == ',' && w.state == wantNext:
		w.next()
	case value && c != ',' && c != ':' && c != '}' && c != ']':
		w.token = bareToken
		w.text.reset()
		return i
	default:
		w.err = ErrSyntax
	}
	return i + 1
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// next goes on after a comma.
func (w *Walker[T]) next() {
	f := w.open[len(w.open)-1]
	if f.array {
		w.state, w.node = wantValue, f.node.Elements
	} else {
		w.state = wantName
	}
}

// begin opens an object or array, or begins to skip it.
func (w *Walker[T]) begin(array bool) {
	n := w.node
	if n == nil || array && n.Elements == nil || !array && n.Members == nil && n.Other == nil {
		w.beginSkip(false)
		return
	}
	w.open = append(w.open, frame[T]{n, array})
	w.state = wantMember
	if array {
		w.state, w.node = wantElement, n.Elements
	}
	if n.Begin != nil {
		n.Begin(w.target)
	}
}

// end closes the innermost open value, which must be an array or not as told.
func (w *Walker[T]) end(array bool) {
	if len(w.open) == 0 {
		w.err = ErrSyntax
		return
	}
	f := w.open[len(w.open)-1]
	if f.array != array {
		w.err = ErrSyntax
		return
	}
	w.open = w.open[:len(w.open)-1]
	w.afterValue()
	if f.node.End != nil {
		f.node.End(w.target)
	}
}

func (w *Walker[T]) afterValue() {
	w.state = wantNext
	if len(w.open) == 0 {
		w.state = wantNothing
	}
}

// scalar hands a scalar on.
func (w *Walker[T]) scalar(v Value) {
	w.afterValue()
	if w.node == nil || w.node.Scalar == nil {
		return
	}
	if len(w.open) > 0 && w.open[len(w.open)-1].node.Other == w.node {
		v.Name = w.name
	}
	if !w.node.Scalar(w.target, v) && len(w.open) > 0 {
		w.beginSkip(true)
	}
}

// member takes a member's name and finds its node.
func (w *Walker[T]) member(name []byte, cut bool) {
	w.state = wantColon
	n := w.open[len(w.open)-1].node
	w.node = nil
	if cut {
		return
	}
	for i := range n.Members {
		if n.Members[i].Name == string(name) {
			w.node = n.Members[i].Node
			return
		}
	}
	if n.Other != nil {
		w.node = n.Other
		w.name = append(w.name[:0], name...)
	}
}
