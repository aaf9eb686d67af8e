// SPDX-License-Identifier: Apache-2.0

package jsonwalk

// readString takes bytes of a string and returns how many.
func (w *Walker[T]) readString(p []byte) int {
	t := &w.text
	if t.hex != 0 {
		if !t.escape(p[0]) {
			w.err = ErrSyntax
		}
		return 1
	}
	n := plain(p)
	if n > 0 {
		t.flush()
	}
	if n < len(p) && p[n] == '"' && t.untouched() {
		w.endString(p[:min(n, MaxText)], n > MaxText)
		return n + 1
	}
	t.append(p[:n])
	if n == len(p) {
		return n
	}
	switch p[n] {
	case '"':
		t.flush()
		w.endString(t.token(), t.cut)
	case '\\':
		t.hex = -1
	default:
		w.err = ErrSyntax
	}
	return n + 1
}

// plain counts the bytes of p before the first quote, backslash or control character.
func plain(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(p)
}

func (w *Walker[T]) endString(s []byte, cut bool) {
	w.token = noToken
	if w.state == wantName || w.state == wantMember {
		w.member(s, cut)
		return
	}
	w.scalar(Value{Kind: String, Text: s, Cut: cut})
}

// readBare takes bytes of a number, true, false or null and returns how many.
func (w *Walker[T]) readBare(p []byte) int {
	n := 0
	for n < len(p) && !isSpace(p[n]) && p[n] != ',' && p[n] != '}' && p[n] != ']' {
		n++
	}
	w.text.append(p[:n])
	if w.text.cut {
		w.err = ErrSyntax
	} else if n < len(p) {
		w.endBare()
	}
	return n
}

func (w *Walker[T]) endBare() {
	w.token = noToken
	b := w.text.token()
	kind, ok := bareKind(b)
	if !ok {
		w.err = ErrSyntax
		return
	}
	w.scalar(Value{Kind: kind, Text: b})
}

// beginSkip begins to skip an object or array that just began or, for leftover, the rest of the
// innermost open one.
func (w *Walker[T]) beginSkip(leftover bool) {
	w.token = skipped
	w.nested, w.quoted, w.escaped, w.leftover = 1, false, false, leftover
}

// structural marks the bytes that matter while skipping.
var structural = [256]bool{'"': true, '{': true, '[': true, '}': true, ']': true}

// skip passes over bytes and returns how many.
func (w *Walker[T]) skip(p []byte) int {
	i := 0
	for i < len(p) {
		if w.quoted {
			i += w.skipString(p[i:])
			continue
		}
		c := p[i]
		i++
		if !structural[c] {
			continue
		}
		switch c {
		case '"':
			w.quoted = true
		case '{', '[':
			w.nested++
		default:
			w.nested--
		}
		if w.nested == 0 {
			w.endSkip()
			break
		}
	}
	return i
}

// skipString passes over a string's bytes up to its end and returns how many.
func (w *Walker[T]) skipString(p []byte) int {
	for i, c := range p {
		switch {
		case w.escaped:
			w.escaped = false
		case c == '\\':
			w.escaped = true
		case c == '"':
			w.quoted = false
			return i + 1
		}
	}
	return len(p)
}

func (w *Walker[T]) endSkip() {
	w.token = noToken
	if w.leftover {
		w.end(w.open[len(w.open)-1].array)
		return
	}
	w.afterValue()
}
