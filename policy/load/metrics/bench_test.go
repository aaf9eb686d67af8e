// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"fmt"
	"testing"
)

// window is what the plugin reads from the host at once.
const window = 64 << 10

func benchmark(b *testing.B, page []byte) {
	p := newParser(b)
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		p.Reset()
		for rest := page; len(rest) > 0; rest = rest[min(window, len(rest)):] {
			p.Write(rest[:min(window, len(rest))])
		}
		p.Close()
		p.Result()
	}
}

// BenchmarkParse measures whole pages of the largest real ones and of pages made to be slow.
func BenchmarkParse(b *testing.B) {
	for _, file := range []string{"vllm-1.txt", "vllm-11-live.txt", "sglang-1.txt"} {
		b.Run("page="+file, func(b *testing.B) { benchmark(b, readPage(b, file)) })
	}
	var known, names bytes.Buffer
	for i := 0; known.Len() < 2<<20; i++ {
		fmt.Fprintf(&known, "vllm:num_requests_waiting{engine=\"%d\",model_name=\"m\"} 1.0\n", i)
		fmt.Fprintf(&names, "name_%d{engine=\"0\",model_name=\"m\"} 1.0\n", i)
	}
	for _, c := range []struct {
		name string
		page []byte
	}{
		{"known lines only", known.Bytes()},
		{"another name on each line", names.Bytes()},
		{"line feeds only", bytes.Repeat([]byte("\n"), 2<<20)},
		{"one line", bytes.Repeat([]byte("x"), 2<<20)},
		{"a label in each byte", append([]byte("vllm:num_requests_waiting{"), bytes.Repeat([]byte("a=\"\","), 400<<10)...)},
	} {
		b.Run("2 MB/"+c.name, func(b *testing.B) { benchmark(b, c.page) })
	}
}
