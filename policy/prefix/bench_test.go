// SPDX-License-Identifier: Apache-2.0

package prefix

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// benchWindow is the size of the pieces that the plugin reads from the host.
const benchWindow = 64 << 10

// benchSizes are a usual prompt, and the one of the benchmarks against other routers.
var benchSizes = []int{16 << 10, 220 << 10}

// benchTexts make prompts of the kinds that cost differently, as they are in JSON.
var benchTexts = []struct {
	name string
	make func(size int) string
}{
	{"english", func(size int) string { return quoteJSON(repeatLines(englishLines, size)) }},
	{"code", func(size int) string { return quoteJSON(repeatLines(codeLines, size)) }},
	{"history", func(size int) string { return quoteJSON(words(rand.New(rand.NewPCG(7, 7)), size)) }},
	{"chinese", func(size int) string { return quoteJSON(repeatLines(chineseLines, size)) }},
	{"escaped", func(size int) string { return quoteASCII(repeatLines(chineseLines, size/2)) }},
	{"base64", func(size int) string { return base64Text(size) }},
}

// Lines at both ends of the usual density: an escape every seventy bytes of prose, every seven bytes
// of code, punctuation in Chinese that is Chinese, too.
var (
	englishLines = []string{
		"The committee met on the second floor, as it had every month since the bridge was closed, and talked for two hours about the cost.",
		"Nobody remembered who had first proposed the tunnel. It had been in the minutes for so long that it seemed to have no author at all.",
		"\"We could begin with the eastern bank,\" said the engineer, \"and see how the ground behaves before we promise anything.\"",
		"Outside, the river went on as rivers do; it had carried away two piers in the spring and would, in all likelihood, want a third.",
		"A report was asked for. The report would be long, it would be careful, and it would arrive after the decision it was meant to inform.",
	}
	codeLines = []string{
		"func (t *Tree) Insert(key string, value int) error {",
		"\tif t == nil || key == \"\" {",
		"\t\treturn fmt.Errorf(\"insert %q: %w\", key, errEmpty)",
		"\t}",
		"\tfor n := t.root; n != nil; n = n.next(key) {",
		"\t\tif strings.HasPrefix(n.path, \"C:\\\\data\\\\\") {",
		"\t\t\tn.count++",
		"\t\t}",
		"\t}",
		"\tprint(\"done\\n\")",
		"}",
		"",
	}
	chineseLines = []string{
		"委员会每个月在二楼开会，自从大桥关闭以来一直如此，并就费用讨论了两个小时。",
		"没有人记得是谁最先提出修建隧道的。它在会议记录里存在了那么久，好像根本没有作者。",
		"工程师说：“我们可以从东岸开始，先看看地基的情况，再做出任何承诺。”😀👍",
		"外面的河水照常流淌；春天它已经冲走了两座桥墩，很可能还想要第三座。🌊",
	}
)

func repeatLines(lines []string, size int) string {
	r := rand.New(rand.NewPCG(4, 4))
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(lines[r.IntN(len(lines))])
		b.WriteByte('\n')
	}
	return b.String()
}

var wordList = strings.Fields(`the of if return value server name "quoted" path list for each request token cache index`)

// words is text of random words, some of them in quotes, in lines of about sixty bytes: an escape
// every 28 bytes, at places that no branch predictor learns.
func words(r *rand.Rand, size int) string {
	var b strings.Builder
	for line := 0; b.Len() < size; {
		word := wordList[r.IntN(len(wordList))]
		b.WriteString(word)
		if line += len(word) + 1; line > 60 {
			b.WriteByte('\n')
			line = 0
			continue
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func quoteJSON(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// quoteASCII is what Python's json.dumps writes.
func quoteASCII(text string) string {
	var b strings.Builder
	for _, r := range quoteJSON(text) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func base64Text(size int) string {
	r := rand.New(rand.NewPCG(5, 5))
	p := make([]byte, size*3/4)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return `"data:image/png;base64,` + base64.StdEncoding.EncodeToString(p) + `"`
}

// benchBody is a chat body of one long message, or of one image.
func benchBody(name, text string) []byte {
	content := text
	if name == "history" {
		return historyBody(text)
	}
	if name == "base64" {
		content = `[{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":` + text + `}}]`
	}
	return []byte(`{"model":"m","messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":` + content + `}],"stream":true}`)
}

// historyBody is a long conversation: a turn of the user of about two thousand bytes, a short answer.
func historyBody(text string) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"system","content":"You are a helpful assistant."}`)
	for text = strings.Trim(text, `"`); len(text) > 0; {
		end := min(len(text), 2000)
		for end < len(text) && text[end-1] != ' ' {
			end++
		}
		fmt.Fprintf(&b, `,{"role":"user","content":"%s"},{"role":"assistant","content":"Yes, that is so."}`, strings.TrimSuffix(text[:end], `\`))
		text = text[end:]
	}
	b.WriteString(`],"stream":true}`)
	return []byte(b.String())
}

// benchStructure are bodies whose time goes into structure, not text: the tools of an agent, a long
// chat of short messages, a list of token ids, the same pretty-printed.
func benchStructure() map[string][]byte {
	var tools, turns, ids []string
	for i := range 60 {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","description":"Reads the file at the given path and returns its lines, numbered.","parameters":{"type":"object","properties":{"path":{"type":"string","description":"Absolute path of the file"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","description":"Number of lines"}},"required":["path"],"additionalProperties":false}}}`, i))
	}
	for i := range 400 {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":"Question %d?"},{"role":"assistant","content":"Answer %d."}`, i, i))
		ids = append(ids, fmt.Sprintf("%d,%d,198,%d", 128000+i, i, i*77))
	}
	chat := `{"model":"m","messages":[{"role":"user","content":"Go on."}],"tools":[` + strings.Join(tools, ",") + `]}`
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, []byte(chat), "", "    ")
	return map[string][]byte{
		"tools":   []byte(chat),
		"schemas": []byte(`{"model":"m","messages":[{"role":"user","content":"Go on."}],"tools":[` + schemas(60) + `]}`),
		"pretty":  pretty.Bytes(),
		"turns":   []byte(`{"model":"m","messages":[` + strings.Join(turns, ",") + `]}`),
		"ids":     []byte(`{"model":"m","prompt":[` + strings.Join(ids, ",") + `]}`),
		"short":   []byte(`{"model":"m","messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"Hello!"}],"stream":true}`),
	}
}

// schemas are tools as agents have them: no two are alike in the number, names and kinds of their
// parameters, so that no branch predictor learns them.
func schemas(n int) string {
	r := rand.New(rand.NewPCG(8, 8))
	word := func() string { return strings.Trim(wordList[r.IntN(len(wordList))], `"`) }
	kinds := []string{
		`{"type":"string","description":%q}`, `{"description":%q,"type":"integer","minimum":0}`, `{"type":"boolean","default":false,"description":%q}`,
		`{"type":"array","items":{"type":"string"},"description":%q}`, `{"type":"string","enum":["asc","desc"],"description":%q}`,
	}
	var tools []string
	for range n {
		var params, required []string
		for range 1 + r.IntN(6) {
			name := fmt.Sprintf("%s_%s%d", word(), word(), r.IntN(99))
			params = append(params, fmt.Sprintf("%q:", name)+fmt.Sprintf(kinds[r.IntN(len(kinds))], "The "+words(r, 10+r.IntN(60))))
			if r.IntN(2) == 0 {
				required = append(required, fmt.Sprintf("%q", name))
			}
		}
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"%s_%s","description":%q,"parameters":{"type":"object","properties":{%s},"required":[%s],"additionalProperties":false}}}`,
			word(), word(), words(r, 60+r.IntN(200)), strings.Join(params, ","), strings.Join(required, ",")))
	}
	return strings.Join(tools, ",")
}

// BenchmarkStructure measures bodies in which little is text.
func BenchmarkStructure(b *testing.B) {
	for _, name := range []string{"short", "tools", "schemas", "pretty", "turns", "ids"} {
		body := benchStructure()[name]
		shape := Chat
		if name == "ids" {
			shape = Completions
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				s := &benchScanner
				s.Reset(&Config{}, shape)
				s.Write(body)
				s.Close()
				if s.Reason() != ReasonNone {
					b.Fatal(s.Reason())
				}
			}
		})
	}
}

// contender is a way to get from a body to a hash of its prompt.
type contender struct {
	name string
	run  func(body []byte) uint64
}

var benchScanner Scanner

var contenders = []contender{
	{"scan", func(body []byte) uint64 {
		s := &benchScanner
		s.Reset(&Config{}, Chat)
		for len(body) > benchWindow {
			s.Write(body[:benchWindow])
			body = body[benchWindow:]
		}
		s.Write(body)
		s.Close()
		return s.Marks().Key
	}},
	{"gjson", gjsonHash},
	{"encoding-json", stdHash},
	{"bytewise", bytewiseHash},
}

// BenchmarkScan measures scan, decode and hash of a whole body, beside other ways to do the same.
// MB/s are raw bytes of the body.
func BenchmarkScan(b *testing.B) {
	for _, c := range contenders {
		for _, text := range benchTexts {
			for _, size := range benchSizes {
				body := benchBody(text.name, text.make(size))
				b.Run(fmt.Sprintf("%s/%s/%dKiB", c.name, text.name, size>>10), func(b *testing.B) {
					b.SetBytes(int64(len(body)))
					b.ReportAllocs()
					var sum uint64
					for b.Loop() {
						sum += c.run(body)
					}
					if sum == 0 {
						b.Fatal("no hash")
					}
				})
			}
		}
	}
}

// gjsonHash reads the messages with gjson and hashes role and decoded text of each.
func gjsonHash(body []byte) uint64 {
	var d digest
	d.reset(0)
	if !gjson.ValidBytes(body) {
		return 0
	}
	gjson.GetBytes(body, "messages").ForEach(func(_, m gjson.Result) bool {
		d.write([]byte(m.Get("role").Str))
		content := m.Get("content")
		d.write([]byte(content.Str))
		content.ForEach(func(_, part gjson.Result) bool {
			d.write([]byte(part.Get("text").Str))
			d.write([]byte(part.Get("image_url.url").Str))
			return true
		})
		return true
	})
	return d.sum()
}

// stdHash does the same with encoding/json.
func stdHash(body []byte) uint64 {
	var v struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if json.Unmarshal(body, &v) != nil {
		return 0
	}
	var d digest
	d.reset(0)
	for _, m := range v.Messages {
		d.write([]byte(m.Role))
		if text, ok := m.Content.(string); ok {
			d.write([]byte(text))
		}
		parts, _ := m.Content.([]any)
		for _, part := range parts {
			part, _ := part.(map[string]any)
			text, _ := part["text"].(string)
			d.write([]byte(text))
			image, _ := part["image_url"].(map[string]any)
			url, _ := image["url"].(string)
			d.write([]byte(url))
		}
	}
	return d.sum()
}

// bytewiseHash is the loop that one writes first: a state machine over single bytes that decodes
// simple escapes and hashes all strings with FNV-1a.
func bytewiseHash(body []byte) uint64 {
	h := uint64(14695981039346656037)
	inside, escape := false, false
	for _, c := range body {
		switch {
		case !inside:
			inside = c == '"'
			continue
		case escape:
			escape = false
			if c == 'n' {
				c = '\n'
			}
		case c == '\\':
			escape = true
			continue
		case c == '"':
			inside = false
			continue
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
