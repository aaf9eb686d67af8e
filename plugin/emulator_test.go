// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/proxytest"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// emulate starts the contexts in the SDK's emulator of a proxy-wasm host.
func emulate(t *testing.T, config string) (h proxytest.HostEmulator, status types.OnPluginStartStatus) {
	t.Helper()
	opt := proxytest.NewEmulatorOption().WithVMContext(newVM(sdkHost{})).WithPluginConfiguration([]byte(config))
	h, reset := proxytest.NewHostEmulator(opt)
	t.Cleanup(reset)
	if h.StartVM() != types.OnVMStartStatusOK {
		t.Fatal("the VM did not start")
	}
	return h, h.StartPlugin()
}

func TestEmulatorLifeCycle(t *testing.T) {
	h, status := emulate(t, fourEndpoints)
	if status != types.OnPluginStartStatusOK {
		t.Fatalf("configuration refused: %q", h.GetErrorLogs())
	}
	body := chatBody("ann", 2)
	var ends []string
	for range 2 {
		id := h.InitializeHttpContext()
		if action := h.CallOnRequestHeaders(id, chatHeaders(len(body)), false); action != requestPaused {
			t.Fatalf("headers: action %d, want %d", action, requestPaused)
		}
		if action := h.CallOnRequestBody(id, []byte(body), true); action != types.ActionContinue {
			t.Fatalf("body: action %d, want %d", action, types.ActionContinue)
		}
		to, _ := headerMapOf(h.GetCurrentRequestHeaders(id)).get(destinationHeader)
		ends = append(ends, first(string(to)))
		h.CallOnResponseHeaders(id, [][2]string{{":status", "200"}}, false)
		h.CallOnResponseBody(id, []byte(`{}`), true)
		h.CompleteHttpContext(id)
	}
	if ends[0] == "" || ends[0] != ends[1] {
		t.Errorf("equal bodies went to %q", ends)
	}
	h.Tick()
	if n, err := h.GetCounterMetric("kvsteer_steered"); err != nil || n != 2 {
		t.Errorf("kvsteer_steered = %d, %v; want 2", n, err)
	}
	if !h.FinishVM() {
		t.Error("the VM did not end")
	}
}

func TestEmulatorRefusesFaultyConfiguration(t *testing.T) {
	h, status := emulate(t, `{"pools":[{"cluster":"a","endpoints":["nowhere"]}],"mod":"observe"}`)
	if status != types.OnPluginStartStatusFailed {
		t.Error("a faulty configuration was accepted")
	}
	if n := len(h.GetErrorLogs()); n != 2 {
		t.Errorf("%d error lines, want one per fault: %q", n, h.GetErrorLogs())
	}
}
