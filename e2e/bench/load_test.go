// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestBodiesHaveTheirSize(t *testing.T) {
	for _, l := range loads {
		bodies := makeBodies(l.bytes)
		for i, body := range bodies {
			if len(body) < l.bytes*95/100 || len(body) > l.bytes*110/100 || !json.Valid(body) {
				t.Errorf("%s: body %d has %d bytes (valid: %t)", l.name, i, len(body), json.Valid(body))
			}
		}
		if bytes.Equal(bodies[0], bodies[1]) {
			t.Errorf("%s: two bodies are equal", l.name)
		}
	}
}

func TestCPUTimeGrowsWithWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CPU time is read from /proc")
	}
	read := func() time.Duration {
		spent, err := cpuTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		return spent
	}
	begun, before := time.Now(), read()
	for sum := 0; time.Since(begun) < 30*time.Millisecond; sum++ {
	}
	if spent := read() - before; spent <= 0 || spent > time.Duration(runtime.NumCPU())*time.Since(begun)+10*time.Millisecond {
		t.Errorf("CPU time grew by %v in %v of work", spent, time.Since(begun))
	}
	if _, err := cpuTime(1 << 30); err == nil {
		t.Error("no error for a process that doesn't exist")
	}
}
