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

func br(label byte) string   { return string([]byte{opBr, label}) }
func brIf(label byte) string { return string([]byte{opBrIf, label}) }

func TestJumps(t *testing.T) {
	const (
		nop   = "\x01"
		block = "\x02\x40"
		loop  = "\x03\x40"
		get1  = "\x20\x01"
		ifs   = emptyIf
		ifI32 = "\x04\x7f" // with a result
		end   = "\x0b"
		to0   = "\x41\x00\x21\x00"
		to1   = "\x41\x02\x21\x00" // 2 is segment 1
		to2   = "\x41\x03\x21\x00"
		els   = "\x05"
	)
	// Of three segments, the loop's label is 2 in the first and 1 in the second.
	for _, c := range []struct{ name, in, want string }{
		{"to the next segment", body(to1+br(2), nop, nop), body(br(0), nop, nop)},
		{"to the one after", body(to2+br(2), nop, nop), body(br(1), nop, nop)},
		{"from the middle", body(nop, to2+br(1), nop), body(nop, br(0), nop)},
		{"back", body(nop, to0+br(1), nop), "\x00" + loop + block + block + "\x20\x00\x0e\x03\x00\x00\x00\x01" + end +
			loop + block + nop + end + br(0) + end + end + nop + end + "\x00" + end},
		{"to itself", body(nop, to1+br(1), nop), body(nop, loop+br(0)+end, nop)},
		{"with a condition", body(get1+ifs+to1+br(3)+end, nop, nop), body(get1+brIf(0), nop, nop)},
		{"with two conditions", body(get1+ifs+get1+ifs+to2+br(4)+end+end, nop, nop), body(get1+ifs+get1+brIf(2)+end, nop, nop)},
		{"at the end of an if that does more", body(get1+ifs+nop+to1+br(3)+end, nop, nop), body(get1+ifs+nop+br(1)+end, nop, nop)},
		{"in an if with a result", body(get1+ifI32+to1+br(3)+end, nop, nop), body(get1+ifI32+br(1)+end, nop, nop)},
		{"before an else", body(get1+ifs+to1+br(3)+els+nop+end, nop, nop), body(get1+ifs+br(1)+els+nop+end, nop, nop)},
		{"to itself with a condition", body(nop, get1+ifs+to1+br(2)+end, nop), body(nop, loop+get1+brIf(0)+end, nop)},
		{"a number that the table has not", body("\x41\x09\x21\x00"+br(2), nop, nop), body("\x41\x09\x21\x00"+br(2), nop, nop)},
		{"another local", body("\x41\x02\x21\x01"+br(2), nop, nop), body("\x41\x02\x21\x01"+br(2), nop, nop)},
		{"not to the loop", body(to1+br(1), nop, nop), body(to1+br(1), nop, nop)},
		{"no segments", "\x00" + get1 + end, "\x00" + get1 + end},
		{"a loop of the program's own", "\x00\x03\x40" + nop + end + end, "\x00\x03\x40" + nop + end + end},
	} {
		got, err := straightenBody([]byte(c.in))
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

// moduleOf is a module of one function and nothing else.
func moduleOf(body string) []byte {
	code := appendSized([]byte{1}, []byte(body))
	return appendSized([]byte(header+"\x0a"), code)
}

// What isn't a module, or not a whole one, is refused. Whatever bit is changed,
// straighten returns.
func TestBrokenModules(t *testing.T) {
	const jump, nop = "\x41\x02\x21\x00\x0c\x02", "\x01"
	whole := moduleOf(body(jump, nop, nop))
	if _, err := straighten(whole); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string][]byte{
		"empty":                  nil,
		"version 2":              []byte("\x00asm\x02\x00\x00\x00"),
		"a length without end":   []byte(header + "\x0a\xff\xff\xff\xff\xff\x01"),
		"an unknown instruction": moduleOf("\x00\x03\x40\xfd\x0b\x0b"),
		"a loop without its end": moduleOf(body(jump, nop, nop)[:28]),
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
			straighten(changed) // with an error or without: some changes make another module
		}
	}
}
