// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// show writes a node's kind, pointer and value, a line a node.
func show(b *strings.Builder, n Node) {
	text, _ := n.Text()
	b.WriteString([]string{"none", "null", "bool", "number", "string", "array", "object"}[n.Kind])
	b.WriteString(" " + n.Pointer + " " + text + n.Literal() + "\n")
	n.Members(func(_ string, v Node) { show(b, v) })
	for _, v := range n.Elements() {
		show(b, v)
	}
}

func TestParse(t *testing.T) {
	n, err := Parse([]byte(`{"a":[1.50,-2e3,true,null,"\u00e9\n"],"x/y~z":{},"a":"again"}`), "/p")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	show(&got, n)
	want := "object /p \narray /p/a \nnumber /p/a/0 1.50\nnumber /p/a/1 -2e3\nbool /p/a/2 true\n" +
		"null /p/a/3 \nstring /p/a/4 é\n\nobject /p/x~1y~0z \nstring /p/a again\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if n.Member("a").Kind != Array || n.Member("b").Kind != None {
		t.Errorf("Member: %v, %v; want the first a and nothing for b", n.Member("a").Kind, n.Member("b").Kind)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        ``,
		"cut short":      `{"a":`,
		"two values":     `{} {}`,
		"trailing comma": `[1,]`,
		"comment":        `{} // x`,
		"bad UTF-8":      "\"\xff\"",
		"control":        "\"\n\"",
		"open string":    `"a`,
		"open escape":    `"\`,
		"lone surrogate": `"\ud800"`,
		"low surrogate":  `"\udc00"`,
		"two high ones":  `"\ud800\ud800"`,
		"short escape":   `"\u12"`,
		"signed escape":  `"\u+123"`,
		"no escape":      `"\x"`,
		"bare point":     `1.`,
		"bare exponent":  `1e`,
		"bare minus":     `-`,
		"plus":           `+1`,
		"no colon":       `{"a" 1}`,
		"no key":         `{1:2}`,
		"no comma":       `[1 2]`,
		"half a word":    `tru`,
		"leading zero":   `01`,
		"wrong bracket":  `[1}`,
	} {
		if _, err := Parse([]byte(text), ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	if _, err := Parse([]byte(deep), ""); !errors.Is(err, ErrTooDeep) {
		t.Errorf("depth %d: %v, want %v", MaxDepth+1, err, ErrTooDeep)
	}
	if _, err := Parse([]byte(deep[1:len(deep)-1]), ""); err != nil {
		t.Errorf("depth %d: %v", MaxDepth, err)
	}
}

// surrogates finds what encoding/json lets through: it replaces lone surrogates.
var surrogates = regexp.MustCompile(`(?i)\\u[d][89a-f]`)

// FuzzParse compares with encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",{"b":null}]}`, `"\ud83d\ude00\u00e9\/"`, ` -0.5E+3 `, "[\"\x7f\", tru", `{"a":1,"a":2}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse([]byte(text), "")
		if (n.Kind == None) != (err != nil) {
			t.Errorf("Parse(%q) = kind %d, %v", text, n.Kind, err)
		}
		valid := json.Valid([]byte(text)) && utf8.ValidString(text)
		if err == nil && !valid {
			t.Errorf("Parse(%q) takes what is not valid", text)
		}
		if err != nil && valid && !errors.Is(err, ErrTooDeep) && !surrogates.MatchString(text) {
			t.Errorf("Parse(%q): %v", text, err)
		}
		if s, ok := n.Text(); ok {
			var want string
			if err := json.Unmarshal([]byte(text), &want); err != nil || s != want {
				t.Errorf("Parse(%q) = %q, want %q (%v)", text, s, want, err)
			}
		}
	})
}
