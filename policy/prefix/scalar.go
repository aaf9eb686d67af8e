// SPDX-License-Identifier: Apache-2.0

package prefix

func (s *Scanner) beginKey() {
	s.named = 0
	s.sink, s.keep = sinkName, keepNone
	switch s.node {
	case nodeSkip:
		s.sink = sinkNone
	case nodeField:
		s.beginText(keepName)
	}
}

// endKey ends a key that came in pieces.
func (s *Scanner) endKey() {
	if s.node == nodeField {
		s.fieldKey(s.word(), s.text64.sum(), s.textBytes)
		return
	}
	s.lookUp(s.word())
}

// lookUp finds out what the value behind a key is.
func (s *Scanner) lookUp(key []byte) {
	switch s.node {
	case nodeRoot:
		s.target, s.slot = rootKey(s.shape, key)
	case nodeMessage:
		s.messageKey(key)
	case nodePart:
		s.partKey(key)
	case nodeParams:
		s.target, s.slot = paramsKey(key)
	}
}

// shortString takes a whole string value that is not inside a field, or is skipped there.
func (s *Scanner) shortString(text []byte) {
	switch {
	case s.node == nodeSkip:
	case s.target == targetContent, s.target == targetText:
		s.beginPartText()
		s.emit(text)
		s.endPartText()
	case s.target == targetRole:
		s.setRole(text, 0)
	default:
		s.beginString()
		s.emit(text)
		s.endString()
	}
}

// beginString chooses the sink of a string value.
func (s *Scanner) beginString() {
	s.sink, s.keep, s.named = sinkNone, keepNone, 0
	if s.node == nodeSkip {
		return
	}
	switch s.target {
	case targetRoot:
		s.fail(ReasonNotObject)
	case targetPrompt:
		s.beginStringPrompt()
	case targetElement:
		s.endTokens()
		s.openMessage(true)
		s.sink = sinkStream
	case targetSystem:
		s.beginSystem()
		s.beginPartText()
	case targetPart:
		s.openPart()
		s.beginPartText()
	case targetContent, targetText:
		s.beginPartText()
	case targetRole, targetType:
		s.beginText(keepName)
	case targetField:
		s.beginField()
		s.beginText(keepOf(s.slot))
		s.clearKept()
	case targetInner:
		s.beginText(keepNone)
	case targetStream:
		s.sink = sinkName
	}
}

func (s *Scanner) endString() {
	if s.node == nodeSkip {
		return
	}
	switch s.target {
	case targetPrompt:
		s.closeMessage()
		s.endPrompt()
	case targetElement:
		s.closeMessage()
	case targetSystem:
		s.endPartText()
		s.endSystem()
	case targetPart:
		s.endPartText()
		s.closePart()
	case targetContent, targetText:
		s.endPartText()
	case targetRole:
		s.setRole(s.word(), s.text64.sum())
	case targetType:
		s.setType(s.word())
	case targetField, targetInner:
		s.endLeaf(leafString)
	case targetStream:
		s.stream = setIf(string(s.word()) == "true")
	}
}

// endLeaf adds the text just read to the field, which it ends if it is all of it.
func (s *Scanner) endLeaf(kind uint64) {
	s.leaf(kind, s.text64.sum(), s.textBytes)
	if s.target == targetField {
		s.endField()
	}
}

func (s *Scanner) beginNumber() {
	s.sink, s.integer, s.wholePart = sinkNone, 0, true
	if s.node == nodeSkip {
		return
	}
	switch s.target {
	case targetRoot:
		s.fail(ReasonNotObject)
	case targetPrompt:
		s.fail(ReasonBadPrompt)
	case targetElement:
		s.beginToken()
	case targetField:
		s.beginField()
		s.clearKept()
		s.beginText(keepNone)
	case targetInner:
		s.beginText(keepNone)
	}
}

// emitNumber takes the next bytes of the number being read.
func (s *Scanner) emitNumber(p []byte) {
	if s.target == targetMaxTokens || s.target == targetStream {
		s.addDigits(p)
	}
	s.emit(p)
}

// addDigits reads the digits in front of a point or exponent.
func (v *value) addDigits(p []byte) {
	for _, c := range p {
		v.wholePart = v.wholePart && c >= '0' && c <= '9' && v.integer <= maxTokens
		if v.wholePart {
			v.integer = v.integer*10 + int(c-'0')
		}
	}
}

func (s *Scanner) endNumber() {
	if s.node == nodeSkip {
		return
	}
	switch s.target {
	case targetElement:
		s.put(tokenEnd)
	case targetField, targetInner:
		s.endLeaf(leafNumber)
	case targetMaxTokens:
		s.maxTokens = s.integer
	case targetStream:
		s.stream = setIf(s.integer == 1)
	}
}

func (s *Scanner) endLiteral() {
	if s.node == nodeSkip {
		return
	}
	switch s.target {
	case targetRoot:
		s.fail(ReasonNotObject)
	case targetPrompt:
		if s.literal != literalNull {
			s.fail(ReasonBadPrompt)
		}
	case targetField:
		s.beginField()
		s.clearKept()
		if s.literal != literalNull {
			s.leaf(leafLiteral, uint64(s.literal), len(literals[s.literal]))
		}
		s.endField()
	case targetInner:
		s.leaf(leafLiteral, uint64(s.literal), len(literals[s.literal]))
	case targetStream:
		s.stream = setIf(s.literal == literalTrue)
	}
}
