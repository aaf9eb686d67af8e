// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// body is a function as the compiler writes it: a loop, a block for each
// segment, and the table 0, 1, 1, 2, …, so that number 2 is segment 1.
func body(segments ...string) string {
	b := "\x00\x03\x40"
	for range segments {
		b += "\x02\x40"
	}
	b += "\x20\x00\x0e" + string(rune(len(segments))) + "\x00\x01"
	for s := range segments[1:] {
		b += string(rune(s + 1))
	}
	b += "\x0b"
	for s, code := range segments {
		if s > 0 {
			b += "\x0b"
		}
		b += code
	}
	return b + "\x0b\x00\x0b"
}

func TestJumps(t *testing.T) {
	const (
		nop   = "\x01"
		get1  = "\x20\x01"
		ifs   = "\x04\x40"
		end   = "\x0b"
		to0   = "\x41\x00\x21\x00"
		to1   = "\x41\x02\x21\x00" // 2 is segment 1
		to2   = "\x41\x03\x21\x00"
		loop0 = "\x0c\x02" // to the loop, from segment 0 of three
	)
	for _, c := range []struct{ name, in, want string }{
		{"to the next segment", body(to1+loop0, nop, nop), body("\x0c\x00", nop, nop)},
		{"to the one after", body(to2+loop0, nop, nop), body("\x0c\x01", nop, nop)},
		{"from the middle", body(nop, to2+"\x0c\x01", nop), body(nop, "\x0c\x00", nop)},
		{"back", body(nop, to0+"\x0c\x01", nop), body(nop, to0+"\x0c\x01", nop)},
		{"to itself", body(nop, to1+"\x0c\x01", nop), body(nop, to1+"\x0c\x01", nop)},
		{"with a condition", body(get1+ifs+to1+"\x0c\x03"+end, nop, nop), body(get1+"\x0d\x00", nop, nop)},
		{"with two conditions", body(get1+ifs+get1+ifs+to2+"\x0c\x04"+end+end, nop, nop), body(get1+ifs+get1+"\x0d\x02"+end, nop, nop)},
		{"at the end of an if that does more", body(get1+ifs+nop+to1+"\x0c\x03"+end, nop, nop), body(get1+ifs+nop+"\x0c\x01"+end, nop, nop)},
		{"before an else", body(get1+ifs+to1+"\x0c\x03\x05"+nop+end, nop, nop), body(get1+ifs+"\x0c\x01\x05"+nop+end, nop, nop)},
		{"back with a condition", body(nop, get1+ifs+to0+"\x0c\x02"+end, nop), body(nop, get1+ifs+to0+"\x0c\x02"+end, nop)},
		{"a number that the table has not", body("\x41\x09\x21\x00"+loop0, nop, nop), body("\x41\x09\x21\x00"+loop0, nop, nop)},
		{"another local", body("\x41\x02\x21\x01"+loop0, nop, nop), body("\x41\x02\x21\x01"+loop0, nop, nop)},
		{"not to the loop", body(to1+"\x0c\x01", nop, nop), body(to1+"\x0c\x01", nop, nop)},
		{"no segments", "\x00" + get1 + end, "\x00" + get1 + end},
		{"a loop of the program's own", "\x00\x03\x40" + nop + end + end, "\x00\x03\x40" + nop + end + end},
	} {
		got, err := appendBody(nil, []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %x, %v\nwant %x", c.name, got, err, c.want)
		}
	}
}

// program builds testdata/program, in which control flow takes all the ways
// that Go has.
func program(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program.wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "./testdata/program")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func TestProgramsDoTheSame(t *testing.T) {
	before := program(t)
	after, err := straighten(before)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) >= len(before)*99/100 {
		t.Errorf("%d bytes after, %d before", len(after), len(before))
	}
	if again, err := straighten(after); err != nil || !bytes.Equal(again, after) {
		t.Errorf("a second time makes a difference (%v): jumps were left", err)
	}
	want, got := output(t, before), output(t, after)
	if len(want) < 100 || !bytes.Equal(got, want) {
		t.Errorf("the program prints\n%s\nwant\n%s", got, want)
	}
}

// output is what a program prints.
func output(t *testing.T, module []byte) []byte {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntime(ctx)
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	var out bytes.Buffer
	_, err := r.InstantiateWithConfig(ctx, module, wazero.NewModuleConfig().WithStdout(&out).WithStderr(&out).WithSysNanotime())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	return out.Bytes()
}

// module is a module of one function and nothing else.
func module(body string) []byte {
	code := appendSized([]byte{1}, []byte(body))
	return appendSized([]byte(header+"\x0a"), code)
}

// What isn't a module is refused; what is changed in one place ends somehow.
func TestBrokenModules(t *testing.T) {
	const jump, nop = "\x41\x02\x21\x00\x0c\x02", "\x01"
	whole := module(body(jump, nop, nop))
	if _, err := straighten(whole); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string][]byte{
		"empty":                  nil,
		"version 2":              []byte("\x00asm\x02\x00\x00\x00"),
		"a length without end":   []byte(header + "\x0a\xff\xff\xff\xff\xff\x01"),
		"an unknown instruction": module("\x00\x03\x40\xfd\x0b\x0b"),
		"a loop without its end": module(body(jump, nop, nop)[:28]),
	} {
		if _, err := straighten(m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for n := len(header) + 1; n < len(whole); n++ {
		if _, err := straighten(whole[:n]); err == nil {
			t.Errorf("no error for the first %d bytes", n)
		}
	}
	for at := len(header); at < len(whole); at++ {
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[at] ^= 1 << bit
			straighten(changed) // that it comes back is all
		}
	}
}
