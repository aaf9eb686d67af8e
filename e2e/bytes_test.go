// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/kvsteer/kvsteer/e2e/envoy"
)

// However a body comes in and whatever it is, the engine gets the same bytes.
func TestBodies(t *testing.T) {
	e := start(t, options{workers: 1})
	t.Run("in pieces", func(t *testing.T) { bodiesInPieces(t, e.in(t)) })
	t.Run("no prompt", func(t *testing.T) { bodiesThatAreNoPrompt(t, e.in(t)) })
	t.Run("real", func(t *testing.T) { realBodies(t, e.in(t)) })
	if got := e.stat("kvsteer_panics"); got != 0 {
		t.Errorf("kvsteer_panics = %d", got)
	}
}

// However it is cut, a prompt counts as the same.
func bodiesInPieces(t *testing.T, e *env) {
	body := newTalk(1).body(t)
	first := e.steered(chatPath, body)
	e.received()
	for _, c := range []struct {
		name string
		send func() *answer
	}{
		{"chunked", func() *answer { return e.send(e.chunked(io.MultiReader(strings.NewReader(body)))) }},
		{"chunks of one byte", func() *answer { return e.send(e.chunked(iotest.OneByteReader(strings.NewReader(body)))) }},
		{"one byte at a time", func() *answer { return e.drip(body, 1) }},
		{"seven bytes at a time", func() *answer { return e.drip(body, 7) }},
	} {
		a := c.send()
		if a.engine != first.engine || a.engine != a.decision.endpoint || a.decision.match == 0 {
			t.Errorf("%s: served by %s with %+v, want %s as before", c.name, a.engine, a.decision, first.engine)
		}
		e.checkBody(e.only().Body, []byte(body))
	}
}

// chunked makes a request whose length isn't announced.
func (e *env) chunked(body io.Reader) *http.Request {
	e.t.Helper()
	return e.request(http.MethodPost, chatPath, io.NopCloser(body))
}

// drip sends a body with content-length, so many bytes per write.
func (e *env) drip(body string, size int) *answer {
	e.t.Helper()
	conn := e.dial()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", chatPath, len(body))
	for rest := body; rest != ""; {
		n := min(size, len(rest))
		if _, err := io.WriteString(conn, rest[:n]); err != nil {
			e.t.Fatal(err)
		}
		rest = rest[n:]
	}
	return e.readFrom(conn, nil)
}

// A long body passes whole, also where Envoy buffers less than the plugin
// would wait for.
func TestLongBodiesAtSmallBuffers(t *testing.T) {
	body := longBody(t, 1<<20)
	for _, limit := range []int{0, 32 << 10, 16 << 10} {
		t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
			o := options{}
			if limit > 0 {
				bounded := fmt.Sprintf("\n    per_connection_buffer_limit_bytes: %d\n", limit)
				o.edits = []string{"  - name: llm\n", "  - name: llm" + bounded, "  - name: engines\n    type", "  - name: engines" + bounded + "    type"}
			}
			e := start(t, o)
			for _, c := range []struct {
				name string
				req  *http.Request
			}{
				{"content-length", e.request(http.MethodPost, chatPath, strings.NewReader(body))},
				{"chunked", e.chunked(strings.NewReader(body))},
				{"chunks of 1,000 bytes", e.chunked(&pieces{rest: body, size: 1000})},
			} {
				a := e.send(c.req)
				if a.status != http.StatusOK || a.engine != a.decision.endpoint {
					t.Errorf("%s: status %d from %s, decision %+v", c.name, a.status, a.engine, a.decision)
				}
				e.checkBody(e.only().Body, []byte(body))
			}
		})
	}
}

func longBody(t *testing.T, size int) string {
	t.Helper()
	c := newTalk(1)
	for n := 0; len(c.Messages) < 40; n++ {
		c.Messages = append(c.Messages, message{"user", prose(n, size/40)}, message{"assistant", "Yes. "})
	}
	body := c.body(t)
	for n := 0; len(body) < size; n++ {
		c.Messages = append(c.Messages, message{"user", prose(n, 20_000)})
		body = c.body(t)
	}
	return body
}

// pieces reads so many bytes at a time.
type pieces struct {
	rest string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(p.size, len(b))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// What isn't JSON, is cut short or has no prompt passes unchanged and unsteered.
func bodiesThatAreNoPrompt(t *testing.T, e *env) {
	cases := map[string]string{
		"not JSON":         "hello",
		"cut in a string":  `{"model":"m","messages":[{"role":"user","content":"he`,
		"cut in a list":    newTalk(1).body(t)[:1000],
		"no prompt":        `{"model":"m","temperature":1}`,
		"two documents":    `{"messages":[{"role":"user","content":"hi"}]}{}`,
		"not UTF-8":        "{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}",
		"an array":         `[1,2,3]`,
		"null":             `null`,
		"deeply nested":    `{"messages":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"only white space": " \n\t ",
	}
	for name, body := range cases {
		if a := e.post(chatPath, body); a.engine == "" {
			t.Errorf("%s: no engine answered (status %d)", name, a.status)
		}
		e.checkBody(e.only().Body, []byte(body))
	}
	if a := e.steered(chatPath, newTalk(1).body(t)); a.status != http.StatusOK {
		t.Errorf("a chat after them: status %d", a.status)
	}
	e.received()
}

// Bodies in the forms that clients send, byte for byte. The public collection
// beside the project is used where it is there; make test-full needs it.
func realBodies(t *testing.T, e *env) {
	files := bodiesIn(t, "testdata/bodies", 12)
	root, err := envoy.Root()
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(root, "../shared/data/requests")
	switch _, err := os.Stat(public); {
	case err == nil:
		files = append(files, bodiesIn(t, public, 350)...)
	case os.Getenv("KVSTEER_REQUIRE_DATA") == "1":
		t.Errorf("the public bodies are missing: %v", err)
	default:
		t.Logf("without the public bodies: %v", err)
	}
	chosen := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{chatPath, "/v1/completions"} {
			a := e.send(e.request(http.MethodPost, path, bytes.NewReader(body)))
			if a.engine == "" || a.decision.steered && a.engine != a.decision.endpoint {
				t.Errorf("%s to %s: status %d from %q, decision %+v", file, path, a.status, a.engine, a.decision)
			}
			e.checkBody(e.only().Body, body)
			if a.decision.steered && path == chatPath {
				chosen++
			}
		}
		if t.Failed() {
			t.Fatalf("stopped at %s", file)
		}
	}
	t.Logf("%d bodies, %d of them steered as chats", len(files), chosen)
}

// bodiesIn lists the JSON files of a folder and those below, and fails where
// there are fewer than expected.
func bodiesIn(t *testing.T, folder string, atLeast int) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < atLeast {
		t.Fatalf("%d bodies in %s, want at least %d (%v)", len(files), folder, atLeast, err)
	}
	return files
}
