// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// randomFunction makes a function of the compiler's form with jumps of all
// kinds, among them some into the middle of loops, that compilers don't make.
// It mixes the segments it comes through into global 0, and returns 0 when
// global 1, its fuel, is used up or it has come to its end. It returns 1 where
// it is suspended; global 2 is the number to go on with.
func randomFunction(random *rand.Rand) string {
	const (
		end     = "\x0b"
		spend   = "\x23\x01\x41\x01\x6b\x24\x01" + "\x23\x01\x45\x04\x40\x41\x00\x0f\x0b"
		suspend = "\x24\x02"
	)
	segments := 1 + random.IntN(10)
	var numbers []int // by segment, its first number
	table := ""
	for s := range segments {
		numbers = append(numbers, len(table))
		table += strings.Repeat(string(rune(s)), 1+random.IntN(3))
	}
	// bit is true half of the time, by what was mixed.
	bit := func() string { return "\x23\x00\x41" + string(rune(random.IntN(31))) + "\x76\x41\x01\x71" }
	jump := func(nest, s int) string {
		to := random.IntN(segments)
		if random.IntN(3) > 0 && s > 0 {
			to = random.IntN(s + 1)
		}
		return "\x41" + string(rune(numbers[to])) + "\x21\x00" + br(byte(nest+segments-1-s))
	}
	f := "\x00\x02\x40\x03\x40" + strings.Repeat("\x02\x40", segments) +
		"\x20\x00\x0e" + string(rune(len(table)-1)) + table + end
	for s := range segments {
		if s > 0 {
			f += end
		}
		f += spend + "\x23\x00\x41\x1f\x6c\x41" + string(rune(s+1)) + "\x6a\x24\x00" // mix = 31 mix + s + 1
		for range random.IntN(3) {
			f += bit() + emptyIf + jump(1, s) + end
		}
		switch last := s == segments-1; {
		case last:
			f += "\x41\x00\x0f"
		case random.IntN(4) == 0:
			f += jump(0, s)
		case random.IntN(3) == 0:
			f += "\x41" + string(rune(numbers[s+1])) + suspend + bit() + brIf(byte(segments-s))
		}
	}
	return f + end + "\x00" + end + "\x41\x01" + end
}

// randomModule exports the function as f, and its globals as 0, 1 and 2.
func randomModule(f string) []byte {
	section := func(id byte, data string) string { return string(appendSized([]byte{id}, []byte(data))) }
	global := "\x7f\x01\x41\x00\x0b"
	return []byte(header + section(1, "\x01\x60\x01\x7f\x01\x7f") + section(3, "\x01\x00") +
		section(6, "\x03"+global+global+global) +
		section(7, "\x04\x01f\x00\x00\x010\x03\x00\x011\x03\x01\x012\x03\x02") +
		section(codeSection, string(appendSized([]byte{1}, []byte(f)))))
}

// outcome calls f until it comes to its end, and returns what it has mixed, the
// fuel left, and how often it was suspended.
func outcome(t *testing.T, module []byte, mix uint64) [3]uint64 {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer r.Close(ctx)
	m, err := r.Instantiate(ctx, module)
	if err != nil {
		t.Fatalf("%v\n%x", err, module)
	}
	global := func(name string) api.MutableGlobal { return m.ExportedGlobal(name).(api.MutableGlobal) }
	global("0").Set(mix)
	global("1").Set(300)
	for suspended, number := uint64(0), uint64(0); ; suspended++ {
		out, err := m.ExportedFunction("f").Call(ctx, number)
		if err != nil {
			t.Fatalf("%v\n%x", err, module)
		}
		if out[0] == 0 {
			return [3]uint64{global("0").Get(), global("1").Get(), suspended}
		}
		number = global("2").Get()
	}
}

func TestRandomFunctionsDoTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	suspended, loops := 0, 0
	for range 1500 {
		f := randomFunction(random)
		before := randomModule(f)
		after, err := straighten(before)
		if err != nil {
			t.Fatalf("%v\n%x", err, before)
		}
		for range 4 {
			mix := random.Uint64N(1 << 32)
			want := outcome(t, before, mix)
			if got := outcome(t, after, mix); got != want {
				t.Fatalf("mix, fuel, suspensions %d, want %d\n%x", got, want, before)
			}
			suspended += int(want[2])
		}
		parsed, err := parse([]byte(f))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range parsed.loops() {
			if l != nil && l.entered {
				loops++
			}
		}
	}
	if suspended < 5000 || loops < 500 {
		t.Errorf("%d suspensions, %d loops entered in their middle: too few to show anything", suspended, loops)
	}
}
