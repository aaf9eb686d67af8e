// SPDX-License-Identifier: Apache-2.0

package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// readyIn bounds the wait for an Envoy to come up. Compiling the module on a
// busy machine is the long part.
const readyIn = 60 * time.Second

// An Instance is a running Envoy.
type Instance struct {
	Address string // ip:port of the listener
	Admin   Admin

	cmd    *exec.Cmd
	dir    string
	exited chan struct{} // closed when the process has ended
}

// Options of an instance.
type Options struct {
	Workers int    // worker threads; 0: 2
	Level   string // log level; "": warning
}

// Start runs Envoy with a configuration and returns when it accepts requests.
func Start(ctx context.Context, b *Binary, config string, o Options) (*Instance, error) {
	dir, err := os.MkdirTemp("", "kvsteer-envoy-")
	if err != nil {
		return nil, err
	}
	i := &Instance{dir: dir, exited: make(chan struct{})}
	if err := i.run(b, config, o); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := i.await(ctx); err != nil {
		err = fmt.Errorf("envoy: not ready: %w\n%s", err, i.Log())
		i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Instance) run(b *Binary, config string, o Options) error {
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Level == "" {
		o.Level = "warning"
	}
	if err := os.WriteFile(i.file("envoy.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(i.file("log"))
	if err != nil {
		return err
	}
	defer log.Close()
	i.cmd = exec.Command(b.Path,
		"-c", i.file("envoy.yaml"),
		"--admin-address-path", i.file("admin"),
		"--disable-hot-restart", // instances beside each other would share memory
		"--concurrency", strconv.Itoa(o.Workers),
		"--log-level", o.Level,
	)
	i.cmd.Stdout, i.cmd.Stderr = log, log
	i.cmd.SysProcAttr = endWithParent()
	if err := i.cmd.Start(); err != nil {
		return err
	}
	go func() {
		i.cmd.Wait() // the log tells more
		close(i.exited)
	}()
	return nil
}

func (i *Instance) file(name string) string { return filepath.Join(i.dir, name) }

var errExited = errors.New("it has ended")

// await polls until the admin port is known, the server says it is ready and
// the listener has a port.
func (i *Instance) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyIn)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	err := errors.New("no admin address")
	for {
		select {
		case <-i.exited:
			return errExited
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
		if err = i.probe(ctx); err == nil {
			return nil
		}
	}
}

func (i *Instance) probe(ctx context.Context) error {
	address, err := os.ReadFile(i.file("admin"))
	if err != nil || len(address) == 0 {
		return fmt.Errorf("no admin address: %w", err)
	}
	i.Admin = Admin{Address: strings.TrimSpace(string(address))}
	if _, err := i.Admin.Get(ctx, "/ready"); err != nil {
		return err
	}
	i.Address, err = i.Admin.listener(ctx)
	return err
}

// PID returns the process id.
func (i *Instance) PID() int { return i.cmd.Process.Pid }

// Log returns what Envoy has written so far.
func (i *Instance) Log() string {
	text, err := os.ReadFile(i.file("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Stop ends the process and removes its files.
func (i *Instance) Stop() {
	i.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-i.exited:
	case <-time.After(5 * time.Second):
		i.cmd.Process.Kill() // it may have ended
		<-i.exited
	}
	os.RemoveAll(i.dir)
}
