// SPDX-License-Identifier: Apache-2.0

package orca

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dataFile opens a file of the shared data; the test is skipped where the folder is absent.
func dataFile(t testing.TB, name string) *os.File {
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", "orca")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("no shared data: ", dir)
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

const casesAtLeast = 41

type sharedCase struct {
	Headers [][2]string
	Expect  any // a report, or words
}

// outcome is what this package makes of the words of a shared case.
type outcome struct {
	err    error
	fields map[Field]float64
}

// outcomes has every "expect" of the shared cases that is no report. Where it leaves a choice, the
// package documentation says which was taken.
var outcomes = map[string]outcome{
	"error:not_found no ORCA data sent from the backend": {err: ErrMissing},
	"error:not_found": {err: ErrMissing},
	"error:unsupported ORCA header format: BAD":          {err: ErrFormat},
	"error:unsupported ORCA header format: (empty)":      {err: ErrFormat},
	"error:unable to parse value":                        {err: ErrValue},
	"error:cannot be NaN":                                {err: ErrValue},
	"error:cannot be infinity":                           {err: ErrValue},
	"error:duplicate metric: cpu_utilization":            {err: ErrDuplicate},
	"error:duplicate metric":                             {err: ErrDuplicate},
	"error:unsupported metric name":                      {err: ErrName},
	"error:named metric key is empty":                    {err: ErrName},
	"error:metric values cannot be empty strings":        {err: ErrSyntax},
	"error:invalid JSON":                                 {err: ErrSyntax},
	"error:invalid JSON (truncated)":                     {err: ErrSyntax},
	"error:unable to parse binaryheader":                 {err: ErrSyntax},
	"error:unable to decode ORCA binary header value":    {err: ErrSyntax},
	"error:ORCA binary header value is empty":            {err: ErrSyntax},
	"error:multiple orca load reports":                   {err: ErrSeveral},
	"error: overflow":                                    {err: ErrValue},
	"error or clamp":                                     {err: ErrValue},
	"error":                                              {err: ErrSyntax}, // NaN is not JSON
	"no metrics; must not zero the load":                 {},
	"no metrics":                                         {},
	"router choice: max/sum; envoy: error duplicate":     {fields: map[Field]float64{KVUse: 0.55, Waiting: 7}},
	"lower-case prefix: accept or ignore":                {fields: map[Field]float64{KVUse: 0.42}},
	"two header lines":                                   {fields: map[Field]float64{KVUse: 0.42, Waiting: 5}},
	"percent where a fraction is expected: clamp/ignore": {},
	// An unknown member is passed over.
	"error:invalid JSON (unknown field)": {fields: map[Field]float64{
		CPU: 0.7, Application: 0.8, Memory: 0.9, RPS: 1000, EPS: 2}},
}

func TestSharedCases(t *testing.T) {
	lines := bufio.NewScanner(dataFile(t, "cases.jsonl"))
	n := 0
	for ; lines.Scan(); n++ {
		var c sharedCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		r, err := report(t, c.Headers...)
		switch expect := c.Expect.(type) {
		case string:
			want, ok := outcomes[expect]
			if !ok {
				t.Errorf("case %d: no outcome for %q", n, expect)
			}
			if err != want.err {
				t.Errorf("case %d: %v: %v, want %v", n, c.Headers, err, want.err)
			}
			checkFields(t, c.Headers, r, want.fields)
		case map[string]any:
			if err != nil {
				t.Errorf("case %d: %v: %v", n, c.Headers, err)
			}
			checkReport(t, c.Headers, r, expect)
		}
	}
	if n < casesAtLeast {
		t.Errorf("%d cases, want at least %d", n, casesAtLeast)
	}
}

// report parses the headers of one response.
func report(t testing.TB, headers ...[2]string) (*Report, error) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	p.Reset()
	for _, h := range headers {
		p.Add(h[0], []byte(h[1]))
	}
	return p.Report()
}

func checkFields(t *testing.T, headers any, r *Report, want map[Field]float64) {
	t.Helper()
	for f := range fieldCount {
		got, known := r.Value(f)
		w, wanted := want[f]
		if known != wanted || got != w {
			t.Errorf("%v: field %d = %v, %v, want %v, %v", headers, f, got, known, w, wanted)
		}
	}
}

// checkReport compares with a report in JSON: all its numbers and no others.
func checkReport(t *testing.T, headers any, r *Report, want map[string]any) {
	t.Helper()
	fields := map[Field]float64{}
	named, _ := want["named_metrics"].(map[string]any)
	for name, v := range named {
		if f, ok := namedField([]byte(name)); ok {
			fields[f] = v.(float64)
		}
	}
	for name, v := range want {
		if f, ok := standardField([]byte(name)); ok {
			fields[f] = v.(float64)
		}
	}
	checkFields(t, headers, r, fields)
	if len(r.Named()) != len(named) {
		t.Errorf("%v: %d named metrics, want %d", headers, len(r.Named()), len(named))
	}
	for _, got := range r.Named() {
		if w, ok := named[string(got.Name)]; !ok || got.Value != w {
			t.Errorf("%v: %s = %v, want %v", headers, got.Name, got.Value, w)
		}
	}
}

func TestBinaryFiles(t *testing.T) {
	for _, c := range []struct {
		file string
		want map[Field]float64
	}{
		{"example-report.bin", map[Field]float64{CPU: 0.7, Memory: 0.9, Application: 0.8, RPS: 1000, EPS: 2}},
		{"vllm-like-report.bin", map[Field]float64{KVUse: 0.42, Waiting: 5}},
	} {
		f := dataFile(t, c.file)
		raw := make([]byte, 4096)
		n, err := f.Read(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
			r, err := report(t, [2]string{HeaderBinary, e.EncodeToString(raw[:n])})
			if err != nil {
				t.Errorf("%s: %v", c.file, err)
			}
			checkFields(t, c.file, r, c.want)
		}
	}
}

func TestReports(t *testing.T) {
	encode := base64.StdEncoding.EncodeToString
	many := strings.Repeat("named_metrics.a=1,", MaxNamed)
	for i := range MaxNamed {
		many = strings.Replace(many, "a=", "b"+strings.Repeat("c", i)+"=", 1)
	}
	for _, c := range []struct {
		name   string
		header [2]string
		err    error
		want   map[Field]float64
	}{
		{"two lines folded into one", [2]string{Header, "TEXT named_metrics.num_requests_waiting=5, TEXT eps=1"}, nil, map[Field]float64{Waiting: 5, EPS: 1}},
		{"prefix without a payload", [2]string{Header, "TEXT"}, nil, nil},
		{"JSON prefix without a payload", [2]string{Header, "JSON"}, ErrSyntax, nil},
		{"colon in the name of a name=value pair", [2]string{Header, "TEXT named_metrics.vllm:num=3"}, nil, nil},
		{"request costs and utilisations are passed over", [2]string{Header, "TEXT request_cost.a=1, utilization.b=2, eps=3"}, nil, map[Field]float64{EPS: 3}},
		{"request cost without a name", [2]string{Header, "TEXT request_cost.=1"}, ErrName, nil},
		{"comma at the end", [2]string{Header, "TEXT eps=3,"}, ErrSyntax, nil},
		{"standard metric negative", [2]string{Header, "TEXT eps=-3"}, ErrValue, nil},
		{"named metric negative", [2]string{Header, "TEXT named_metrics.delta=-3"}, nil, nil},
		{"more named metrics than fit", [2]string{Header, "TEXT " + many + "named_metrics.d=1"}, ErrTooLong, nil},
		{"a name longer than fits", [2]string{Header, "TEXT named_metrics." + strings.Repeat("n", maxNames+1) + "=1"}, ErrTooLong, nil},
		{"value longer than is read", [2]string{Header, "TEXT eps=" + strings.Repeat("0", MaxValue)}, ErrTooLong, nil},
		{"binary value longer than is read", [2]string{HeaderBinary, strings.Repeat("A", MaxValue+1)}, ErrTooLong, nil},
		{"names of the JSON mapping", [2]string{HeaderJSON, `{"cpuUtilization":0.5,"namedMetrics":{"num_requests_running":2}}`}, nil, map[Field]float64{CPU: 0.5, Running: 2}},
		{"JSON null", [2]string{Header, `JSON {"eps":null}`}, nil, nil},
		{"JSON number in a string", [2]string{Header, `JSON {"eps":"2"}`}, nil, map[Field]float64{EPS: 2}},
		{"JSON word in a string", [2]string{Header, `JSON {"eps":"NaN"}`}, ErrValue, nil},
		{"JSON member twice", [2]string{Header, `JSON {"eps":1,"eps":2}`}, ErrDuplicate, nil},
		{"JSON array", [2]string{Header, `JSON [1]`}, ErrSyntax, nil},
		{"first fault in JSON counts", [2]string{Header, `JSON {"eps":"x","rps_fractional":-1}`}, ErrValue, nil},
		{"deprecated requests per second", [2]string{HeaderBinary, encode([]byte{3 << 3, 0x90, 0x4e})}, nil, map[Field]float64{RPS: 10000}},
		{"unknown fields of all wire types", [2]string{HeaderBinary, encode([]byte{15 << 3, 1, 15<<3 | 5, 1, 2, 3, 4, 15<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 15<<3 | 2, 1, 9})}, nil, nil},
		{"group", [2]string{HeaderBinary, encode([]byte{15<<3 | 3, 15<<3 | 4})}, ErrSyntax, nil},
		{"field number 0", [2]string{HeaderBinary, encode([]byte{0, 1})}, ErrSyntax, nil},
		{"number cut short", [2]string{HeaderBinary, encode([]byte{1<<3 | 1, 1, 2, 3})}, ErrSyntax, nil},
		{"varint without end", [2]string{HeaderBinary, encode([]byte{3 << 3, 0xff, 0xff})}, ErrSyntax, nil},
		{"binary NaN", [2]string{HeaderBinary, encode([]byte{1<<3 | 1, 1, 0, 0, 0, 0, 0, 0xf8, 0x7f})}, ErrValue, nil},
		{"named entry without a value is 0", [2]string{HeaderBinary, encode(append([]byte{8<<3 | 2, 22, 1<<3 | 2, 20}, "num_requests_waiting"...))}, nil, map[Field]float64{Waiting: 0}},
		{"named entry without a name", [2]string{HeaderBinary, encode([]byte{8<<3 | 2, 0})}, ErrName, nil},
		{"named entry cut short", [2]string{HeaderBinary, encode([]byte{8<<3 | 2, 9, 1})}, ErrSyntax, nil},
	} {
		r, err := report(t, c.header)
		if err != c.err {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
		checkFields(t, c.name, r, c.want)
	}
}

func TestBinaryHeaderExcludesOthers(t *testing.T) {
	text := [2]string{Header, "TEXT eps=3,eps=4"}
	binary := [2]string{HeaderBinary, base64.StdEncoding.EncodeToString([]byte{3 << 3, 5})}
	for _, headers := range [][][2]string{{text, binary}, {binary, text}} {
		r, err := report(t, headers...)
		if err != nil {
			t.Errorf("%v: %v", headers, err)
		}
		checkFields(t, headers, r, map[Field]float64{RPS: 5})
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	values := [][]byte{
		[]byte("TEXT named_metrics.kv_cache_usage_perc=0.42, named_metrics.num_requests_waiting=5.0"),
		[]byte(`JSON {"named_metrics": {"kv_cache_usage_perc": 0.42, "num_requests_waiting": 5.0}}`),
		[]byte("BIN CWZmZmZmZuY/Ec3MzMzMzOw/MQAAAAAAQI9AOQAAAAAAAABAQg4KA2ZvbxEAAAAAAMBeQEIOCgNiYXIRmpmZmZmZyT9JmpmZmZmZ6T8="),
		[]byte("TEXT eps=fast"),
	}
	for _, v := range values {
		allocs := testing.AllocsPerRun(100, func() {
			p.Reset()
			p.Add(Header, v)
			p.Report()
		})
		if allocs != 0 {
			t.Errorf("%.20s: %v allocations, want 0", v, allocs)
		}
	}
}

func FuzzReport(f *testing.F) {
	for _, s := range []string{
		"TEXT named_metrics.kv_cache_usage_perc=0.2, named_metrics.kv_cache_usage_perc=0.9", `JSON {"eps":1,"named_metrics":{"a":2}}`,
		"BIN CWZmZmZmZuY/", `{"eps":1}`, "TEXT a=1, TEXT b:2", "text", "",
	} {
		f.Add(s, "")
	}
	p, err := New()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value, binary string) {
		p.Reset()
		p.Add(Header, []byte(value))
		p.Add(HeaderJSON, []byte(value))
		p.Add(HeaderBinary, []byte(binary))
		p.Reset()
		p.Add(Header, []byte(value))
		r, err := p.Report()
		for field := range fieldCount {
			v, known := r.Value(field)
			if known && (err != nil || v < 0 || v != v || field == KVUse && v > 1) {
				t.Fatalf("%q: field %d = %v with error %v", value, field, v, err)
			}
		}
		if err != nil && len(r.Named()) > 0 {
			t.Fatalf("%q: named metrics with error %v", value, err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	p, err := New()
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, value string }{
		{"format=text", "TEXT named_metrics.kv_cache_usage_perc=0.42, named_metrics.num_requests_waiting=5.0"},
		{"format=json", `JSON {"named_metrics": {"kv_cache_usage_perc": 0.42, "num_requests_waiting": 5.0}}`},
		{"format=bin", "BIN Qh4KE2t2X2NhY2hlX3VzYWdlX3BlcmMR4XoUrkfh2j9CHwoUbnVtX3JlcXVlc3RzX3dhaXRpbmcRAAAAAAAAFEA="},
	} {
		b.Run(c.name, func(b *testing.B) {
			value := []byte(c.value)
			for b.Loop() {
				p.Reset()
				p.Add(Header, value)
				if _, err := p.Report(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
