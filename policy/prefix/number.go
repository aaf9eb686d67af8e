// SPDX-License-Identifier: Apache-2.0

package prefix

// numberStart and the following say what has been read of a number (RFC 8259 §6).
const (
	numberStart state = inNumber + 1 + iota
	numberMinus
	numberZero
	numberInteger
	numberPoint
	numberFraction
	numberE
	numberSign
	numberExponent
)

// numberSteps gives the state after a state and a class of byte; 0 is no step.
var numberSteps = [...][5]state{
	//               '-'           '0'             '1'-'9'         '.'          'e' 'E'
	numberStart:    {numberMinus, numberZero, numberInteger, 0, 0},
	numberMinus:    {0, numberZero, numberInteger, 0, 0},
	numberZero:     {0, 0, 0, numberPoint, numberE},
	numberInteger:  {0, numberInteger, numberInteger, numberPoint, numberE},
	numberPoint:    {0, numberFraction, numberFraction, 0, 0},
	numberFraction: {0, numberFraction, numberFraction, 0, numberE},
	numberE:        {numberSign, numberExponent, numberExponent, 0, 0},
	numberSign:     {0, numberExponent, numberExponent, 0, 0},
	numberExponent: {0, numberExponent, numberExponent, 0, 0},
}

// number consumes the bytes of a number that p begins with. The first other byte ends the number
// and is left to the structure around it.
func (s *Scanner) number(p []byte) int {
	for i, c := range p {
		if s.state == numberInteger && c-'0' <= 9 {
			continue
		}
		st := s.numberStep(c)
		if st == 0 {
			s.emitNumber(p[:i])
			if !numberMayEnd(s.state) {
				s.fail(ReasonNotJSON)
				return i
			}
			s.afterValue()
			s.endNumber()
			return i
		}
		s.state = st
	}
	s.emitNumber(p)
	return len(p)
}

func (s *Scanner) numberStep(c byte) state {
	steps := &numberSteps[s.state]
	switch {
	case c >= '1' && c <= '9':
		return steps[2]
	case c == '0':
		return steps[1]
	case c == '-':
		return steps[0]
	case c == '.':
		return steps[3]
	case c == 'e' || c == 'E':
		return steps[4]
	case c == '+' && s.state == numberE:
		return numberSign
	}
	return 0
}

func numberMayEnd(st state) bool {
	return st == numberZero || st == numberInteger || st == numberFraction || st == numberExponent
}
