// SPDX-License-Identifier: Apache-2.0

package prefix

// target says what the value being read, or the next one, is to the fingerprint.
type target uint8

const (
	targetSkip      target = iota // nothing
	targetRoot                    // the body
	targetPrompt                  // the value that carries the prompt
	targetElement                 // an element of a prompt: text, token id, message, list
	targetSystem                  // a system prompt outside the messages
	targetContent                 // a message's content: text or parts
	targetPart                    // an element of a content
	targetText                    // a text part's text
	targetRole                    // a message's role
	targetType                    // a part's or an item's type
	targetField                   // a value that is hashed as one field, named by slot
	targetInner                   // a value inside a field
	targetParams                  // an object of sampling parameters
	targetStream                  // whether to stream the answer
	targetMaxTokens               // the limit of output tokens
)

// node is what a container is to the fingerprint.
type node uint8

const (
	nodeNone    node = iota
	nodeRoot         // the body
	nodeList         // a prompt, or a list inside it
	nodeMessage      // a message or item
	nodeParts        // a content as a list
	nodePart         // one part
	nodeParams       // sampling parameters
	nodeField        // a hashed field, at any depth
	nodeSkip         // skipped, at any depth
)

// sink is where the decoded text of the string being read goes.
type sink uint8

const (
	sinkNone    sink = iota
	sinkStream       // the canonical stream
	sinkName         // value.name
	sinkField        // the field hash, and what keep says
	sinkBilling      // compared with billing; the stream on a difference
)

// keep says where the first bytes of a string that is hashed as a field are kept, too.
type keep uint8

const (
	keepNone keep = iota
	keepName
	keepModel
	keepPrevious
	keepConversation
)

const (
	maxNodes = 10 // root, lists, message, parts, part, and the container below
	maxLists = 3
	maxName  = 32 // longer keys and roles than all we know
)

// value is the meaning of what the lexer reads: a stack of nodes for the levels that have one. Below
// a field or a skipped value there is only the depth at which it began.
type value struct {
	target     target
	slot       slot
	node       node
	sink       sink
	keep       keep
	nodes      [maxNodes]node // by depth
	lists      int            // open lists
	skipFloor  int            // depth of the outermost skipped container, if node is nodeSkip
	fieldFloor int            // depth of the outermost container of the field, 0 outside of one
	integer    int            // value of the number being read, as far as wholePart
	wholePart  bool           // no point and no exponent so far
	named      int            // length of the text in name; maxName+1 if it was longer
	name       [maxName]byte
}

// word returns the key or short string just read; nil if it was too long to be one that is known.
func (v *value) word() []byte {
	if v.named > maxName {
		return nil
	}
	return v.name[:v.named]
}

func (v *value) addName(p []byte) {
	if v.named+len(p) > maxName {
		v.named = maxName + 1
		return
	}
	v.named += copy(v.name[v.named:], p)
}

// emit takes the next decoded bytes of the string being read.
func (s *Scanner) emit(p []byte) {
	switch s.sink {
	case sinkStream:
		s.put(p)
	case sinkName:
		s.addName(p)
	case sinkField:
		s.text64.write(p)
		s.textBytes += len(p)
		if s.keep != keepNone {
			s.keepText(p)
		}
	case sinkBilling:
		s.matchBilling(p)
	}
}

// emitPlain is emit for plain text that p begins with, found and hashed in one pass. It returns how
// much it took, which may be nothing.
func (s *Scanner) emitPlain(p []byte) int {
	switch {
	case s.sink == sinkStream:
		return s.putPlain(p)
	case s.sink == sinkField && s.keep == keepNone:
		return s.fieldPlain(p)
	}
	return 0
}

func (s *Scanner) keepText(p []byte) {
	switch s.keep {
	case keepName:
		s.addName(p)
	case keepModel:
		s.modelLen += copy(s.model[s.modelLen:], p)
	case keepPrevious:
		s.previousLen += copy(s.previous[s.previousLen:], p)
	case keepConversation:
		s.conversationLen += copy(s.conversation[s.conversationLen:], p)
	}
}

// enter gives a container that has just been opened its meaning.
func (s *Scanner) enter(object bool) {
	switch {
	case s.node == nodeSkip:
		return
	case s.node == nodeField && s.target == targetSkip:
		s.skipFloor, s.node = s.depth, nodeSkip
		return
	case s.node == nodeField:
		s.openField(object)
		return
	}
	n := s.child(object)
	s.node, s.nodes[s.depth] = n, n
	switch n {
	case nodeSkip:
		s.skipFloor = s.depth
	case nodeField:
		s.fieldFloor = s.depth
		s.beginField()
		s.openField(object)
	case nodeList, nodeParts:
		s.nextElement()
	}
}

// child opens what the target asks for when its value is a container.
func (s *Scanner) child(object bool) node {
	switch s.target {
	case targetRoot:
		if object {
			return nodeRoot
		}
		s.fail(ReasonNotObject)
	case targetPrompt, targetElement:
		return s.promptChild(object)
	case targetSystem:
		s.beginSystem()
		return s.contentChild(object)
	case targetContent:
		return s.contentChild(object)
	case targetPart:
		if object {
			s.openPart()
			return nodePart
		}
	case targetField:
		return nodeField
	case targetParams:
		if object {
			return nodeParams
		}
	}
	return nodeSkip
}

func (s *Scanner) promptChild(object bool) node {
	switch {
	case s.target == targetPrompt && !object:
		s.beginPrompt()
		s.lists = 1
		return nodeList
	case s.target == targetElement && object:
		s.endTokens()
		s.openMessage(false)
		return nodeMessage
	case s.target == targetElement && s.lists < maxLists:
		s.endTokens()
		s.lists++
		return nodeList
	}
	s.fail(ReasonBadPrompt)
	return nodeSkip
}

func (s *Scanner) contentChild(object bool) node {
	if object {
		s.openPart()
		return nodePart
	}
	return nodeParts
}

// leave ends the meaning of a container that has just been closed; depth is its parent's already.
func (s *Scanner) leave() {
	left := s.node
	switch left {
	case nodeSkip:
		if s.depth >= s.skipFloor {
			return
		}
	case nodeField:
		s.closeField()
		if s.depth >= s.fieldFloor {
			return
		}
		s.fieldFloor = 0
	}
	s.node = s.nodes[s.depth]
	if s.fieldFloor > 0 {
		s.node = nodeField
	}
	switch left {
	case nodeRoot:
		s.ended = true
	case nodeField:
		s.endField()
	case nodeList:
		s.closeList()
	case nodeMessage:
		s.closeMessage()
	case nodePart:
		s.closePart()
		fallthrough
	case nodeParts:
		if s.node == nodeRoot {
			s.endSystem()
		}
	}
}

// nextElement sets the target of the next element of an array.
func (s *Scanner) nextElement() {
	switch s.node {
	case nodeList:
		s.target = targetElement
	case nodeParts:
		s.target = targetPart
	case nodeField:
		s.fieldElement()
	}
}
