// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/kvsteer/kvsteer/policy/prefix"
)

// shapes tells the shape of a request's body from its path: the configured
// path ends first, in their order, then those that package prefix knows.
type shapes struct {
	configured []pathShape
}

func (s *shapes) of(path []byte) prefix.Shape {
	plain, _, _ := strings.Cut(textOf(path), "?")
	for _, c := range s.configured {
		if strings.HasSuffix(plain, c.end) {
			return c.shape
		}
	}
	return prefix.ShapeOf(plain)
}
