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
