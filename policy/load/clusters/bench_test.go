// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"fmt"
	"testing"
)

// fleet is an Envoy page of that many clusters with two hosts each, the wanted one amid them.
func fleet(t testing.TB, n int) []byte {
	page := recordedPage(t, "1.40.0")
	start := bytes.Index(page, []byte(`  {
   "name": "checked"`))
	end := bytes.Index(page, []byte(`  {
   "name": "ambient"`))
	if start < 0 || end < start {
		t.Fatal("the recorded page has no clusters checked and ambient in this order")
	}
	var b bytes.Buffer
	b.WriteString("{\n \"cluster_statuses\": [\n")
	for i := range n {
		name := fmt.Sprintf(`"outbound|8080||service-%d.default.svc.cluster.local"`, i)
		if i == n/2 {
			name = `"wanted"`
		}
		b.Write(bytes.Replace(page[start:end], []byte(`"checked"`), []byte(name), 1))
	}
	return append(bytes.TrimRight(b.Bytes(), ",\n"), "\n ]\n}\n"...)
}

// BenchmarkParse reads the page of a gateway with 1,000 clusters of which one is wanted, and a
// small page of which all are wanted.
func BenchmarkParse(b *testing.B) {
	const window = 64 << 10
	for _, c := range []struct {
		name  string
		names []string
		page  []byte
		hosts int
	}{
		{"clusters=1000/wanted=1", []string{"wanted"}, fleet(b, 1000), 2},
		{"clusters=5/wanted=5", recordedNames, recordedPage(b, "1.40.0"), len(recorded)},
	} {
		b.Run(c.name, func(b *testing.B) {
			hosts := 0
			p, err := New(Config{Clusters: c.names}, func(*Host) { hosts++ })
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.page)))
			for b.Loop() {
				hosts = 0
				p.Reset()
				for rest := c.page; len(rest) > 0; rest = rest[min(window, len(rest)):] {
					p.Write(rest[:min(window, len(rest))])
				}
				if err := p.Close(); err != nil || hosts != c.hosts {
					b.Fatal(err, hosts)
				}
			}
		})
	}
}
