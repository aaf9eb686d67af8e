// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

// walk drives a table and the slow reference through the same operations,
// which it reads from bytes, and compares them after each.
type walk struct {
	t      *testing.T
	table  *Table
	slow   *slow
	tree   parents
	now    time.Duration
	shrunk bool // Shrink was called: invariant 5 is off
	placed bool // Place was called: invariants 4 and 5 are off
	input  []byte
}

var walkTags = []uint64{0, 7, 1 << 63}

func newWalk(t *testing.T, c Config, input []byte) *walk {
	table, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, table: table, slow: newSlow(c), tree: parents{}, input: input}
	for range 3 {
		w.add()
	}
	return w
}

// next returns a number below n from the input.
func (w *walk) next(n int) int {
	if len(w.input) == 0 {
		return 0
	}
	b := w.input[0]
	w.input = w.input[1:]
	return int(b) % n
}

func (w *walk) endpoint() int { return w.next(w.table.config.Endpoints+2) - 1 }

// chain returns a path of a tree in which three blocks follow each block.
func (w *walk) chain() Chain {
	c := Chain{Tag: walkTags[w.next(len(walkTags))], Tools: uint32(w.next(3) * 100)}
	h, end := uint64(0), uint32(0)
	for depth := range w.next(9) {
		parent := h
		h = h*3 + uint64(w.next(3)) + 1
		if depth > 0 {
			w.tree[h] = parent
		}
		end += 256 * uint32(1+h%3)
		c.Hashes, c.Ends = append(c.Hashes, h), append(c.Ends, end)
	}
	return c
}

func (w *walk) add() {
	capacity := uint64(w.next(5) * 2000)
	e, ok := w.table.Add(capacity)
	wantE, wantOK := w.slow.add(capacity)
	if e != wantE || ok != wantOK {
		w.t.Fatalf("Add(%d) = %d, %v, want %d, %v", capacity, e, ok, wantE, wantOK)
	}
}

// step does one operation.
func (w *walk) step() {
	w.now += time.Duration(w.next(4)) * 700 * time.Microsecond
	switch w.next(16) {
	case 0:
		w.add()
	case 1:
		e := w.endpoint()
		w.table.Remove(e)
		delete(w.slow.lists, e)
	case 2:
		e := w.endpoint()
		w.table.Reset(e)
		if l := w.slow.lists[e]; l != nil {
			l.entries = nil
		}
	case 3:
		e, bytes := w.endpoint(), uint64(w.next(6)*1500)
		w.table.SetCapacity(e, bytes)
		w.slow.setCapacity(e, bytes)
	case 4:
		e, c, keep := w.endpoint(), w.chain(), w.next(9)
		w.table.Shrink(e, c, keep)
		w.slow.shrink(e, c, keep)
		w.shrunk = true
	case 5, 6:
		w.assign()
	case 7:
		w.place()
	default:
		e, c, extra := w.endpoint(), w.chain(), uint32(w.next(4)*300)
		c.AnyTag = w.next(8) == 7
		w.table.Learn(e, c, extra, w.now)
		w.slow.learn(e, c, extra, w.now)
	}
}

func (w *walk) assign() {
	e, conversation := w.endpoint(), uint64(w.next(12))
	w.table.Assign(conversation, e, w.now)
	if w.slow.lists[e] != nil {
		w.slow.assign(e, conversation, w.slow.tick(w.now))
	}
}

func (w *walk) place() {
	e := w.endpoint()
	p := Placement{
		Hash: uint64(w.next(200)), Size: uint32(w.next(9) * 128), Owner: w.next(4) == 0,
		Age: time.Duration(w.next(20)) * time.Millisecond,
	}
	w.table.Place(e, p, w.now)
	if w.slow.lists[e] == nil {
		return
	}
	w.placed = true
	touched := w.slow.tick(w.now) - p.Age.Milliseconds()
	if p.Owner {
		w.slow.assign(e, p.Hash, touched)
		return
	}
	w.slow.place(e, slowEntry{key{hash: p.Hash}, p.Size, touched})
}

func (w *walk) check() {
	t, x := w.t, w.table
	t.Helper()
	checkBothDirections(t, x)
	checkExcess(t, x)
	checkTime(t, x)
	if !w.placed {
		checkChains(t, x, w.tree, !w.shrunk)
	}
	w.compare()
	for e := -1; e <= x.config.Endpoints; e++ {
		if got, want := x.Age(e, w.now), w.slow.age(e, w.now); got != want {
			t.Fatalf("Age(%d) = %v, want %v", e, got, want)
		}
	}
	for conversation := range uint64(12) {
		e, ok := x.Owner(conversation)
		wantE, wantOK := w.slow.owner(conversation)
		if e != wantE || ok != wantOK {
			t.Fatalf("Owner(%d) = %d, %v, want %d, %v", conversation, e, ok, wantE, wantOK)
		}
	}
	w.checkMatch(false)
	w.checkMatch(true)
}

// compare compares each list with the reference's, entry by entry.
func (w *walk) compare() {
	w.t.Helper()
	for e := range w.table.lists {
		var got, want []slowEntry
		for n := w.table.lists[e].newest; n != 0; n = w.table.nodes[n].older {
			x := w.table.nodes[n]
			got = append(got, slowEntry{w.table.slots[x.slot].key(), x.size, int64(int32(x.touched))})
		}
		if l := w.slow.lists[e]; l != nil {
			want = l.entries
		}
		if !slices.Equal(got, want) {
			w.t.Fatalf("endpoint %d holds\n%+v, want\n%+v", e, got, want)
		}
	}
}

func (w *walk) checkMatch(anyTag bool) {
	w.t.Helper()
	c := w.chain()
	c.AnyTag = anyTag
	const untouched = 99999
	dst := slices.Repeat([]uint32{untouched}, w.table.config.Endpoints)
	candidates := make([]uint64, w.table.Words())
	for e := range dst {
		if w.next(4) > 0 {
			candidates[e>>6] |= 1 << (e & 63)
		}
	}
	w.table.Match(dst, c, candidates)
	for e, got := range dst {
		want := uint32(untouched)
		if candidates[e>>6]>>(e&63)&1 == 1 {
			want = w.slow.match(e, c, walkTags)
		}
		if got != want {
			w.t.Fatalf("Match(%+v) of endpoint %d = %d, want %d", c, e, got, want)
		}
	}
}

var walkConfigs = []Config{
	{Endpoints: 5, Slots: 24, Nodes: 40},
	{Endpoints: 5, Slots: 100, Nodes: 30},
	{Endpoints: 3, Slots: 1, Nodes: 1},
	{Endpoints: 70, Slots: 60, Nodes: 300},
	{Endpoints: 6, Slots: 1000, Nodes: 2000},
}

// TestInvariants walks at random and checks all invariants after each step.
func TestInvariants(t *testing.T) {
	for i, c := range walkConfigs {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("endpoints=%d/slots=%d/nodes=%d/seed=%d", c.Endpoints, c.Slots, c.Nodes, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				input := make([]byte, 60000)
				for i := range input {
					input[i] = byte(random.Uint32())
				}
				w := newWalk(t, c, input)
				for len(w.input) > 0 {
					w.step()
					w.check()
				}
			})
		}
	}
}

// TestChainsStayClosed walks with Learn, Assign and the life of endpoints
// only, so that invariants 4 and 5 are checked to the end.
func TestChainsStayClosed(t *testing.T) {
	for _, c := range walkConfigs {
		random := rand.New(rand.NewPCG(1, 2))
		w := newWalk(t, c, nil)
		for range 3000 {
			w.input = make([]byte, 64)
			for i := range w.input {
				w.input[i] = byte(random.Uint32())
			}
			if op := w.input[1] % 16; op == 4 || op == 7 {
				continue
			}
			w.step()
			w.check()
		}
		if w.shrunk || w.placed {
			t.Fatal("the walk used Shrink or Place")
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add(uint8(0), []byte("learn, evict, learn again"))
	f.Add(uint8(2), []byte{9, 9, 9, 1, 8, 2, 0, 8, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, config uint8, input []byte) {
		w := newWalk(t, walkConfigs[int(config)%len(walkConfigs)], input[:min(len(input), 4000)])
		for len(w.input) > 0 {
			w.step()
			w.check()
		}
	})
}

func TestNewRefusesSizesOutOfRange(t *testing.T) {
	tests := []struct {
		name   string
		config Config
		want   error
	}{
		{"defaults", Config{}, nil},
		{"as many endpoints as there can be", Config{Endpoints: MaxEndpoints}, nil},
		{"one endpoint too many", Config{Endpoints: MaxEndpoints + 1}, ErrEndpoints},
		{"negative endpoints", Config{Endpoints: -1}, ErrEndpoints},
		{"negative slots", Config{Slots: -1}, ErrEntries},
		{"too many nodes", Config{Nodes: maxEntries + 1}, ErrEntries},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := New(test.config); !errors.Is(err, test.want) {
				t.Errorf("New(%+v) = %v, want %v", test.config, err, test.want)
			}
		})
	}
}

func TestSizedFitsAndFills(t *testing.T) {
	for _, endpoints := range []int{1, 64, 256, MaxEndpoints} {
		for _, bytes := range []int{100 << 10, 1 << 20, 3 << 20, 16 << 20} {
			c := Sized(bytes, endpoints)
			bigger := Config{endpoints, c.Slots + 1, 2 * (c.Slots + 1)}
			if c.Endpoints != endpoints || c.Nodes != 2*c.Slots || c.Bytes() > bytes || bigger.Bytes() <= bytes {
				t.Errorf("Sized(%d, %d) = %+v with %d bytes", bytes, endpoints, c, c.Bytes())
			}
		}
	}
	if got, want := Sized(0, 16), (Config{16, 1, 2}); got != want {
		t.Errorf("Sized(0, 16) = %+v, want the smallest, %+v", got, want)
	}
}

// The estimate that Sized relies on is what New allocates.
func TestBytesIsWhatNewAllocates(t *testing.T) {
	for _, c := range []Config{{}, {Endpoints: 1024, Slots: 5000, Nodes: 9000}} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := New(c); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		got, want := float64(after.TotalAlloc-before.TotalAlloc), float64(c.Bytes())
		if got < want || got > 1.05*want {
			t.Errorf("New(%+v) allocates %.0f bytes, want %.0f or up to 5 %% more", c, got, want)
		}
	}
}
