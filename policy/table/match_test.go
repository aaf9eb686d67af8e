// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"testing"
)

// blocks returns a chain of 256-byte blocks with these hashes.
func blocks(tag uint64, hashes ...uint64) Chain {
	c := Chain{Hashes: hashes, Tag: tag}
	for i := range hashes {
		c.Ends = append(c.Ends, uint32(i+1)*256)
	}
	return c
}

func newTable(t *testing.T, c Config, capacities ...uint64) *Table {
	t.Helper()
	x, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, capacity := range capacities {
		if e, ok := x.Add(capacity); e != i || !ok {
			t.Fatalf("Add(%d) = %d, %v, want %d, true", capacity, e, ok, i)
		}
	}
	return x
}

func matches(x *Table, c Chain) []uint32 {
	dst := make([]uint32, x.config.Endpoints)
	x.Match(dst, c, slices.Repeat([]uint64{^uint64(0)}, x.Words()))
	return dst
}

func TestMatchTakesTheTagIntoAccount(t *testing.T) {
	x := newTable(t, Config{Endpoints: 3}, 0, 0, 0)
	x.Learn(0, blocks(1, 10, 11, 12), 0, 0)
	x.Learn(1, blocks(2, 10, 11), 0, 0)
	x.Learn(2, blocks(1, 10), 0, 0)
	x.Learn(2, blocks(2, 10, 11, 12), 0, 0)
	x.Shrink(2, blocks(2, 10, 11, 12), 2)
	unknown := blocks(0, 10, 11, 12, 13)
	unknown.AnyTag = true
	tests := []struct {
		name  string
		chain Chain
		want  []uint32
	}{
		{"first tag", blocks(1, 10, 11, 12, 13), []uint32{768, 0, 256}},
		{"second tag", blocks(2, 10, 11, 12, 13), []uint32{0, 512, 512}},
		{"third tag, never learnt", blocks(3, 10, 11, 12, 13), []uint32{0, 0, 0}},
		{"unknown tag takes each endpoint's best", unknown, []uint32{768, 512, 512}},
		{"first block unknown", blocks(1, 9, 11, 12), []uint32{0, 0, 0}},
		{"no block", blocks(1), []uint32{0, 0, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := matches(x, test.chain); !slices.Equal(got, test.want) {
				t.Errorf("Match(%+v) = %v, want %v", test.chain, got, test.want)
			}
		})
	}
}

func TestMatchUnderAnUnknownTagIsAnUpperBoundWithManyTags(t *testing.T) {
	x := newTable(t, Config{Endpoints: 3}, 0, 0, 0)
	c := blocks(0, 5, 6)
	c.AnyTag = true
	for tag := range uint64(100) {
		x.Learn(int(tag%2), blocks(tag, 5, 6), 0, 0)
		want := []uint32{512, 512, 0} // the third holds nothing
		if tag == 0 {
			want[1] = 0
		}
		if tag >= maxSiblings {
			want[2] = 512
		}
		if got := matches(x, c); !slices.Equal(got, want) {
			t.Errorf("Match under any of %d tags = %v, want %v", tag+1, got, want)
		}
	}
	for tag := range uint64(100) {
		want := []uint32{0, 0, 0}
		want[tag%2] = 512
		if got := matches(x, blocks(tag, 5, 6)); !slices.Equal(got, want) {
			t.Errorf("Match under tag %d = %v, want %v", tag, got, want)
		}
	}
}

func TestMatchKeepsToShortSlices(t *testing.T) {
	x := newTable(t, Config{Endpoints: 200}, make([]uint64, 200)...)
	for e := range 200 {
		x.Learn(e, blocks(0, 1), 0, 0)
	}
	dst := make([]uint32, 70)
	x.Match(dst, blocks(0, 1), []uint64{1 << 3, ^uint64(0)})
	for e, got := range dst {
		want := uint32(0)
		if e == 3 || e >= 64 {
			want = 256
		}
		if got != want {
			t.Errorf("endpoint %d matches %d, want %d", e, got, want)
		}
	}
}

func TestMatchOfMaxEndpoints(t *testing.T) {
	x := newTable(t, Config{Endpoints: MaxEndpoints}, make([]uint64, MaxEndpoints)...)
	chain := benchChain(1, 64, 0)
	for e := range MaxEndpoints {
		k := e % 65
		x.Learn(e, Chain{Hashes: chain.Hashes[:k], Ends: chain.Ends[:k], Tag: chain.Tag}, 0, 0)
	}
	for e, got := range matches(x, chain) {
		if want := uint32(e % 65 * 1024); got != want {
			t.Errorf("endpoint %d matches %d, want %d", e, got, want)
		}
	}
}
