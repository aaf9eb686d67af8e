// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// tree is a JSON value that keeps the order of keys, duplicates, and numbers as they are written.
type tree struct {
	kind  byte // one of s(tring) n(umber) t f z(null) o(bject) a(rray)
	text  string
	keys  []string
	items []*tree
}

// parseTree reads a body; nil if it isn't JSON.
func parseTree(body []byte) *tree {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	t, err := readTree(d, 0)
	if err != nil {
		return nil
	}
	return t
}

func readTree(d *json.Decoder, depth int) (*tree, error) {
	if depth > MaxDepth {
		return nil, io.ErrUnexpectedEOF
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case string:
		return &tree{kind: 's', text: v}, nil
	case json.Number:
		return &tree{kind: 'n', text: string(v)}, nil
	case bool:
		if v {
			return &tree{kind: 't', text: "true"}, nil
		}
		return &tree{kind: 'f', text: "false"}, nil
	case json.Delim:
		if depth == MaxDepth {
			return nil, io.ErrUnexpectedEOF
		}
		t := &tree{kind: 'a'}
		if v == '{' {
			t.kind = 'o'
		}
		return t, readItems(d, t, depth)
	}
	return &tree{kind: 'z', text: "null"}, nil
}

func readItems(d *json.Decoder, t *tree, depth int) error {
	for d.More() {
		if t.kind == 'o' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			t.keys = append(t.keys, key.(string))
		}
		item, err := readTree(d, depth+1)
		if err != nil {
			return err
		}
		t.items = append(t.items, item)
	}
	_, err := d.Token()
	return err
}
