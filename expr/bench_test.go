// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strconv"
	"strings"
	"testing"
)

// benchValue is an expression of a usual length.
const benchValue = `pick-two;count=3;share="0.5";by=work`

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, value string }{
		{"method", "sample"},
		{"usual", benchValue},
		{"longest text", `m;a="` + strings.Repeat("x", MaxBytes-6) + `"`},
		{"most parameters", mostParameters()},
	} {
		b.Run(c.name, func(b *testing.B) {
			var e Expression
			b.SetBytes(int64(len(c.value)))
			for b.Loop() {
				if r := e.Parse(c.value); r != nil {
					b.Fatal(r)
				}
			}
		})
	}
}

// mostParameters is the worst case of the search for keys that stand twice.
func mostParameters() string {
	var s strings.Builder
	s.WriteString("m")
	for i := 0; s.Len() < MaxBytes-6; i++ {
		s.WriteString(";" + string('a'+byte(i%26)) + string('a'+byte(i/26)) + "=v")
	}
	return s.String()
}

func BenchmarkResolve(b *testing.B) {
	c := newCounted(b, `{"default":"sample","request_algorithms":{"sticky":"sticky"}}`)
	run := func(name string, query func(i int) Query) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				choice, r := c.Resolve(query(i), 0)
				if r != nil {
					b.Fatal(r)
				}
				c.Settle(&choice, 1, 0)
				i++
			}
		})
	}
	same := Query{RoutingKey: "team-a", Model: "chat-large", Value: benchValue, Lines: 1}
	run("no header", func(int) Query { return Query{RoutingKey: same.RoutingKey, Model: same.Model} })
	run("seen lately", func(int) Query { return same })
	values := make([]string, 4*memoEntries)
	for i := range values {
		values[i] = "pick-two;count=3;low=1;high=" + strconv.Itoa(i+1)
	}
	run("never seen: parse, overlay, compile, insert", func(i int) Query {
		q := same
		q.Value = values[i%len(values)]
		return q
	})
	spaced := make([]string, 4*memoEntries)
	for i := range spaced {
		spaced[i] = "pick-two;" + strings.Repeat(" ", i%900) + "count=3;share=" + `"0.5"` + ";by=work" + strings.Repeat(" ", i/900)
	}
	run("another spelling of what is cached", func(i int) Query {
		q := same
		q.Value = spaced[i%len(spaced)]
		return q
	})
}

func BenchmarkReject(b *testing.B) {
	c := newCounted(b, both)
	q := Query{Model: "m", Value: "sample;count=99", Lines: 1}
	var body []byte
	b.ReportAllocs()
	for b.Loop() {
		_, r := c.Resolve(q, 0)
		body = r.AppendBody(body[:0])
	}
}
