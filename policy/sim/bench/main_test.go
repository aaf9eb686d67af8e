// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/policy/sim"
)

// tiny is a study that takes no time.
func tiny() study {
	c := gateways(2, 1)
	c.Engines = 2
	return study{
		name: "tiny", title: `two columns & "one" < three`, tables: short, seeds: 2, config: c,
		rows:    []string{"prefix-aware", "prefix-aware -evict", "least-tokens"},
		columns: []column{{title: "3 heads", load: "3 heads", speed: 0.2}, {title: "one lost", load: "3 heads", speed: 0.2, change: lost}},
	}
}

func lost(c *sim.Config) { c.Changes = []sim.Change{{At: 100, Engine: 1, Down: true}} }

func TestStudyIsPrintedAsATable(t *testing.T) {
	g, err := tiny().play("")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	g.print(&out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 7 || !strings.Contains(lines[4], "**prefix-aware**") {
		t.Fatalf("table:\n%s", out.String())
	}
	for _, l := range lines[2:] {
		if strings.Count(l, "|") != 4 {
			t.Errorf("line %q has not three cells", l)
		}
	}
}

func TestPictureIsXML(t *testing.T) {
	g, err := tiny().play("")
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(g.picture()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestStudiesNameWhatExists: policies and loads of every study are there.
func TestStudiesNameWhatExists(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range studies() {
		if seen[s.name] || s.title == "" || len(s.tables) == 0 || len(s.columns) == 0 {
			t.Errorf("study %q is incomplete or there twice", s.name)
		}
		seen[s.name] = true
		for _, row := range s.rows {
			policy, off, _ := strings.Cut(row, " -")
			if _, ok := sim.Find(policy); !ok || off != "" && sim.Terms[off] == nil {
				t.Errorf("study %q has an unknown row %q", s.name, row)
			}
		}
	}
	if err := run(io.Discard, "", "", "nosuch", 1); err == nil {
		t.Error("an unknown study is no fault")
	}
}
