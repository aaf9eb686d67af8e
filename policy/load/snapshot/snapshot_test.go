// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
)

// read returns all entries of a snapshot.
func read(t testing.TB, b []byte, taken time.Duration) (Header, []Entry) {
	var r Reader
	if err := r.Open(b); err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for range r.Len() {
		var e Entry
		if !r.Next(&e, taken) {
			t.Fatalf("%d entries of %d", len(entries), r.Len())
		}
		entries = append(entries, e)
	}
	if r.Next(new(Entry), taken) {
		t.Fatal("an entry after the last")
	}
	return r.Header(), entries
}

// randomise sets every field of the struct v, whatever fields it has, to a number that can be
// written; so the test fails when a field of load is not carried.
func randomise(t *testing.T, v reflect.Value, random *rand.Rand) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch f.Interface().(type) {
		case string: // the address, which travels as Entry.ID
		case bool:
			f.SetBool(random.IntN(2) == 0)
		case float64:
			f.SetFloat([]float64{0, 1, 17, 0.25, float64(random.Float32()), math.MaxFloat32, math.SmallestNonzeroFloat32}[random.IntN(7)])
		case uint64:
			f.SetUint(random.Uint64() >> random.IntN(64))
		case time.Duration:
			f.SetInt((1 + random.Int64N(60e6)) * int64(time.Microsecond))
		case []load.QueueTime:
			var q []load.QueueTime
			for range random.IntN(3) {
				q = append(q, load.QueueTime{Priority: random.Uint32(), Wait: random.Uint64()})
			}
			f.Set(reflect.ValueOf(q))
		default:
			t.Fatalf("field %s of type %s is not carried", v.Type().Field(i).Name, f.Type())
		}
	}
}

func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const written, taken = 100 * time.Second, 250 * time.Second
	for range 200 {
		want := make([]Entry, random.IntN(20))
		for i := range want {
			e := &want[i]
			e.ID = fmt.Appendf(nil, "10.0.0.%d:8000", i)
			e.Restarts = random.Uint32()
			randomise(t, reflect.ValueOf(&e.Spec).Elem(), random)
			randomise(t, reflect.ValueOf(&e.Stats).Elem(), random)
			if random.IntN(4) == 0 {
				e.Stats.At = 0
			}
		}
		h := Header{Pool: []byte("engines"), Sequence: random.Uint64(), Taken: random.Int64()}
		b := Append([]byte("before"), h, written, want)
		header, got := read(t, b[len("before"):], taken)
		if !reflect.DeepEqual(header, h) {
			t.Fatalf("header %+v, want %+v", header, h)
		}
		if len(got) != len(want) {
			t.Fatalf("%d entries, want %d", len(got), len(want))
		}
		for i := range want {
			if want[i].Stats.At > 0 {
				want[i].Stats.At += taken - written
			}
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("entry %+v, want %+v", got[i], want[i])
			}
		}
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		name           string
		at, now, taken time.Duration
		want           time.Duration
	}{
		{"an age of two seconds", 8 * time.Second, 10 * time.Second, 5 * time.Second, 3 * time.Second},
		{"never reported", 0, 10 * time.Second, 5 * time.Second, 0},
		{"older than the reader", 1 * time.Second, 10 * time.Second, 5 * time.Second, 1},
		{"from the future", 12 * time.Second, 10 * time.Second, 5 * time.Second, 5 * time.Second},
		{"older than can be written", 1 * time.Second, 9 * time.Hour, 2 * time.Hour, 2*time.Hour - math.MaxUint32*time.Microsecond},
	} {
		e := Entry{ID: []byte("a"), Stats: load.Stats{At: c.at}}
		_, got := read(t, Append(nil, Header{}, c.now, []Entry{e}), c.taken)
		if got[0].Stats.At != c.want {
			t.Errorf("%s: At = %v, want %v", c.name, got[0].Stats.At, c.want)
		}
	}
}

func TestAppendLeavesOut(t *testing.T) {
	entries := make([]Entry, MaxEntries+3)
	for i := range entries {
		entries[i].ID = []byte("a")
	}
	entries[0].ID = nil
	entries[1].ID = bytes.Repeat([]byte("x"), MaxText+1)
	entries[2].Stats.Waiting = math.NaN()
	entries[2].Stats.Running = math.Inf(1)
	entries[2].Stats.KVUse = -1
	entries[2].Stats.KVUsed = math.MaxFloat64
	entries[2].Stats.KVFree = math.SmallestNonzeroFloat64
	entries[2].Stats.QueueTimes = make([]load.QueueTime, MaxQueueTimes+1)
	h, got := read(t, Append(nil, Header{Pool: []byte(strings.Repeat("p", MaxText+1))}, 1, entries), 1)
	if len(got) != MaxEntries || len(h.Pool) != MaxText {
		t.Errorf("%d entries, pool of %d bytes, want %d, %d", len(got), len(h.Pool), MaxEntries, MaxText)
	}
	first := got[0]
	if n := len(first.Stats.QueueTimes); n != MaxQueueTimes {
		t.Errorf("%d queue times, want %d", n, MaxQueueTimes)
	}
	first.Stats.QueueTimes = nil
	if want := (Entry{ID: []byte("a")}); !reflect.DeepEqual(first, want) {
		t.Errorf("entry without usable numbers: %+v, want %+v", first, want)
	}
}

// sample is a snapshot of that many busy endpoints.
func sample(n int) []byte {
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{
			ID: fmt.Appendf(nil, "10.0.%d.%d:8000", i/250, i%250),
			Spec: load.Spec{
				Healthy: true, Capacity: 1_200_000, Weight: 1},
			Stats: load.Stats{
				At: 9*time.Second + time.Duration(i)*7*time.Millisecond, Waiting: 3, Running: float64(20 + i%10),
				MaxConcurrency: 256, KVUse: 0.4 + float64(i%50)/91, KVCapacity: 399296, InputRate: 8000.5 + float64(i)},
		}
	}
	return Append(nil, Header{Pool: []byte("engines"), Sequence: 7, Taken: 1_800_000_000_000_000_000}, 10*time.Second, entries)
}

func TestOpenRefuses(t *testing.T) {
	good := sample(2)
	for n := range len(good) {
		if err := new(Reader).Open(good[:n]); err != ErrFormat {
			t.Errorf("first %d bytes: %v, want %v", n, err, ErrFormat)
		}
	}
	header := func(count uint16) []byte {
		b := append([]byte{magic, version}, make([]byte, headerSize-2+2)...)
		return binary.LittleEndian.AppendUint16(b, count)
	}
	entry := func(change func(r record)) []byte {
		r := make(record, recordSize)
		change(r)
		return append(append(header(1), 1, 0, 'a'), r...)
	}
	float := func(bits uint32) []byte {
		return entry(func(r record) { binary.LittleEndian.PutUint32(r[recordSize-4:], bits) })
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"bytes after the last entry", append(bytes.Clone(good), 0), ErrFormat},
		{"next version", append([]byte{magic, version + 1}, good[2:]...), ErrVersion},
		{"other magic", append([]byte{'x'}, good[1:]...), ErrFormat},
		{"no entries", header(0), nil},
		{"entry of zeros", entry(func(record) {}), nil},
		{"more entries than may be", header(MaxEntries + 1), ErrFormat},
		{"more entries than there are", header(MaxEntries), ErrFormat},
		{"entry without an address", append(append(header(1), 0, 0), make([]byte, recordSize)...), ErrFormat},
		{"address longer than the rest", append(header(1), 9, 0, 'a'), ErrFormat},
		{"unknown flag", entry(func(r record) { r[flagsAt] = allFlags + 1 }), ErrFormat},
		{"queue times beyond the end", entry(func(r record) { r[timesAt] = 1 }), ErrFormat},
		{"too many queue times", append(entry(func(r record) { r[timesAt] = MaxQueueTimes + 1 }),
			make([]byte, (MaxQueueTimes+1)*queueTimeSize)...), ErrFormat},
		{"zero", float(0), nil},
		{"one", float(math.Float32bits(1)), nil},
		{"not a number", float(math.Float32bits(float32(math.NaN()))), ErrFormat},
		{"infinite", float(math.Float32bits(float32(math.Inf(1)))), ErrFormat},
		{"negative", float(math.Float32bits(-1)), ErrFormat},
	} {
		var r Reader
		r.Open(good)
		if err := r.Open(c.b); err != c.want {
			t.Errorf("%s: Open = %v, want %v", c.name, err, c.want)
		}
		if c.want != nil && (r.Len() != 0 || r.Next(new(Entry), 0)) {
			t.Errorf("%s: entries after an error", c.name)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	b := sample(100)
	var e Entry
	var r Reader
	allocs := testing.AllocsPerRun(20, func() {
		if r.Open(b) != nil {
			t.Fatal("refused")
		}
		for r.Next(&e, time.Second) {
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations, want 0", allocs)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(sample(3))
	f.Add(Append(nil, Header{}, 1, []Entry{{ID: []byte("a"), Stats: load.Stats{At: 1, QueueTimes: []load.QueueTime{{Priority: 1, Wait: 2}}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Reader
		if r.Open(b) != nil {
			return
		}
		h, entries := read(t, b, time.Hour)
		for _, e := range entries {
			stats := reflect.ValueOf(e.Stats)
			for i := range stats.NumField() {
				if v, ok := stats.Field(i).Interface().(float64); ok && !(v >= 0 && v <= math.MaxFloat32) {
					t.Fatalf("%s of %s is %v", stats.Type().Field(i).Name, e.ID, v)
				}
			}
		}
		// What was taken is written and read as the same.
		h2, again := read(t, Append(nil, h, time.Hour, entries), time.Hour)
		if !reflect.DeepEqual(h2, h) || len(again) != len(entries) {
			t.Fatalf("%+v, %d entries, written and read: %+v, %d", h, len(entries), h2, len(again))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("endpoints=%d", n), func(b *testing.B) {
			bytes := sample(n)
			b.SetBytes(int64(len(bytes)))
			b.ReportMetric(float64(len(bytes))/float64(n), "bytes/endpoint")
			var e Entry
			var r Reader
			for b.Loop() {
				if err := r.Open(bytes); err != nil {
					b.Fatal(err)
				}
				for r.Next(&e, time.Second) {
				}
			}
		})
	}
}
