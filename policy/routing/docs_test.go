// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"os"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/expr"
)

// The pages whose examples and tables are held to what the program does.
const (
	callersPage   = "../../docs/routing-expressions.md"
	operatorsPage = "../../docs/routing-operators.md"
)

// block is a fenced block of a page.
type block struct {
	kind string
	text string
}

func readPage(t *testing.T, name string) (page string, blocks []block) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page = string(raw)
	parts := strings.Split(page, "\n```")
	for i := 1; i+1 < len(parts); i += 2 {
		kind, text, _ := strings.Cut(parts[i], "\n")
		blocks = append(blocks, block{kind, text})
	}
	return page, blocks
}

// TestDocumentedExamples runs each block of expressions under the routing
// section that the page shows last before it, or under one that enables all.
// A line "> EXPRESSION" or "MODEL> EXPRESSION" is followed by the canonical
// form, or by the status and the body of the answer.
func TestDocumentedExamples(t *testing.T) {
	examples := 0
	for _, name := range []string{callersPage, operatorsPage} {
		_, blocks := readPage(t, name)
		config := everything
		for _, b := range blocks {
			switch b.kind {
			case "json":
				config = b.text
			case "expressions":
				examples += checkExamples(t, config, b.text)
			}
		}
	}
	if examples < 30 {
		t.Errorf("the pages have %d examples, want 30 at least", examples)
	}
}

func checkExamples(t *testing.T, document, text string) (count int) {
	t.Helper()
	config := parsed(t, document)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		model, expression, ok := strings.Cut(lines[i], "> ")
		if !ok {
			t.Fatalf("%q is no example", lines[i])
		}
		got := ""
		if resolved, r := config.Resolve(model, expression); r == nil {
			got = resolved.Canonical
		} else {
			got = "400 " + string(r.AppendBody(nil))
		}
		if got != lines[i+1] {
			t.Errorf("%s\nis documented as %s\nbut comes to    %s", lines[i], lines[i+1], got)
		}
		count++
	}
	return count
}

// TestDocumentedParameters holds each algorithm's table to its declaration.
func TestDocumentedParameters(t *testing.T) {
	page, _ := readPage(t, callersPage)
	meanings := chapter(page, "## What the parameters mean")
	testCatalog(t).Algorithms(func(name string) {
		text := chapter(page, "### `"+name+"`")
		s := settingsOf(t, name)
		s.All(func(p *expr.Parameter, v expr.Value) {
			if row := row(p, v); p.Tighten == expr.Freely && !strings.Contains(text, row) {
				t.Errorf("%s lacks the row\n%s", name, row)
			}
			if !strings.Contains(meanings, "- `"+p.Name+"`: ") {
				t.Errorf("the meaning of %s isn't there", p.Name)
			}
		})
	})
}

func settingsOf(t *testing.T, name string) *expr.Settings {
	t.Helper()
	return parsed(t, `{"default":"`+name+`"}`).Default().Settings()
}

// chapter returns the text from a heading to the next of its level or above.
func chapter(page, heading string) string {
	_, text, _ := strings.Cut(page, "\n"+heading)
	for _, next := range []string{"\n## ", "\n### "} {
		if i := strings.Index(text, next); i >= 0 {
			text = text[:i]
		}
	}
	return text
}

// row is a parameter's line in the table of an algorithm.
func row(p *expr.Parameter, v expr.Value) string {
	kind, value, request, static := "", "unset", p.Request.String(), p.Static.String()
	switch p.Type {
	case expr.Uint, expr.Number:
		kind = "integer"
		if p.Type == expr.Number {
			kind = "number"
		}
		if p.StaticZero > 0 {
			static += ", 0 is 1"
		}
	case expr.Bool:
		kind, request, static = "true or false", "", ""
	case expr.Enum:
		kind, request, static = "name", "see below", "see below"
	case expr.String:
		kind, request, static = "text", "", ""
	}
	if v.IsSet() {
		value = "`" + p.Spell(v) + "`"
	}
	if request == static {
		static = ""
	}
	return "| `" + p.Name + "` | " + strings.Join([]string{kind, value, request, static, p.Inert.String()}, " | ") + " |"
}

// TestDocumentedHeaders holds both pages to the headers that there are, and the
// edge's filter to all of them.
func TestDocumentedHeaders(t *testing.T) {
	callers, _ := readPage(t, callersPage)
	operators, _ := readPage(t, operatorsPage)
	for _, name := range []string{
		expr.HeaderModel, expr.HeaderRoutingKey, expr.HeaderAffinityKey, expr.HeaderInputTokens,
		expr.HeaderPriority, expr.HeaderSLO, expr.HeaderMaxWait, expr.HeaderMethod,
	} {
		if !strings.Contains(callers, "| `"+name+"` |") {
			t.Errorf("callers aren't told of %s", name)
		}
		if !strings.Contains(operators, "\n- `"+name+"`") || !strings.Contains(operators, "- remove: "+name+"\n") {
			t.Errorf("operators aren't told to remove %s", name)
		}
	}
}

// TestDocumentedErrors holds the table of errors to the lists of codes and
// reasons.
func TestDocumentedErrors(t *testing.T) {
	page, _ := readPage(t, callersPage)
	text := chapter(page, "## Errors")
	expr.Codes(func(c expr.Code) {
		if !strings.Contains(text, "| `"+c.String()+"` |") {
			t.Errorf("no row for %v", c)
		}
	})
	expr.Reasons(func(r expr.Reason) {
		if !strings.Contains(page, "`"+r.String()+"`") {
			t.Errorf("reason %v isn't explained", r)
		}
	})
}
