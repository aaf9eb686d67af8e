// SPDX-License-Identifier: Apache-2.0

package table

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	x, err := New(Config{Endpoints: 2, Slots: 8, Nodes: 8})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := x.Add(0)
	other, _ := x.Add(0)
	x.Learn(e, Chain{Hashes: []uint64{7}, Ends: []uint32{256}, Tag: 1}, 0, time.Second)
	tests := []struct {
		name      string
		e         int
		hash, tag uint64
		want      time.Duration
		ok        bool
	}{
		{"held", e, 7, 1, 2 * time.Second, true},
		{"under another tag", e, 7, 2, 0, false},
		{"another block", e, 8, 1, 0, false},
		{"on another endpoint", other, 7, 1, 0, false},
		{"on an endpoint that is none", 9, 7, 1, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := x.Since(tt.e, tt.hash, tt.tag, 3*time.Second); got != tt.want || ok != tt.ok {
				t.Errorf("Since = %v, %v; want %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}
