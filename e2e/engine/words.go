// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// vocabulary holds words of three letters: with the space behind it, each is
// one token.
var vocabulary = strings.Fields(`
	air arm ash bay bee bow cab cap cod dew dot ear eel egg elm fig fin fog fox
	gem gum hat hay hen hop ice ink ivy jar jet key kit lap log map mud net nut
	oak oar oat owl pan paw pea pen pie pod ray rim rye sap saw sea sky sun tea
	tin toy urn van web yak zip`)

// words makes answers: the same prompt always gets the same answer, from
// every engine.
type words struct{ random *rand.Rand }

func newWords(prompt []byte) words {
	h := fnv.New64a()
	h.Write(prompt)
	return words{rand.New(rand.NewPCG(h.Sum64(), 0))}
}

// appendTokens appends n tokens of text.
func (w words) appendTokens(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, vocabulary[w.random.IntN(len(vocabulary))]...)
		dst = append(dst, ' ')
	}
	return dst
}
