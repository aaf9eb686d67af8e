// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const modulePath = "../build/out/kvsteer.wasm"

// module is the built module under wazero behind the guest interface.
type module struct {
	t    testing.TB
	host *fakeHost
	mod  api.Module
}

// randomness of modules; nil: all have the same.
var randomness io.Reader

// compiled is shared by the tests: compiling takes a second.
var compiled struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	host    *fakeHost // of the module that runs; tests do not run in parallel
}

// newModule instantiates build/out/kvsteer.wasm. `make wasm` builds it; a test
// run without it fails rather than skips.
func newModule(t testing.TB, h *fakeHost) *module {
	t.Helper()
	ctx := context.Background()
	if compiled.code == nil {
		compile(t, ctx)
	}
	compiled.host = h
	mod, err := compiled.runtime.InstantiateModule(ctx, compiled.code,
		wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").
			WithNanotime(evenClock(), 1).WithRandSource(randomness))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mod.Close(ctx) })
	return &module{t, h, mod}
}

// evenClock is the clock of the module's Go runtime, which paces its garbage
// collection by it: 10 µs pass at each look, whatever else the machine does.
func evenClock() sys.Nanotime {
	var now int64
	return func() int64 {
		now += 10_000
		return now
	}
}

func compile(t testing.TB, ctx context.Context) {
	t.Helper()
	code, err := os.ReadFile(modulePath)
	if err != nil {
		t.Fatalf("%v (run `make wasm` first)", err)
	}
	r := wazero.NewRuntime(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	if err := exportHost(ctx, r); err != nil {
		t.Fatal(err)
	}
	compiled.runtime = r
	if compiled.code, err = r.CompileModule(ctx, code); err != nil {
		t.Fatal(err)
	}
}

// call calls an export; booleans are passed as 0 and 1.
func (m *module) call(name string, args ...uint64) uint64 {
	m.t.Helper()
	compiled.host = m.host
	out, err := m.mod.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	if len(out) == 0 {
		return 0
	}
	return out[0]
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (m *module) start(id uint32) bool {
	m.call("proxy_on_vm_start", uint64(id), 0)
	return m.configure(id)
}

func (m *module) configure(id uint32) bool {
	m.call("proxy_on_context_create", uint64(id), 0)
	return m.call("proxy_on_configure", uint64(id), uint64(len(m.host.config))) == 1
}

func (m *module) create(id, root uint32) {
	m.call("proxy_on_context_create", uint64(id), uint64(root))
}

func (m *module) requestHeaders(id uint32, n int, end bool) types.Action {
	return types.Action(m.call("proxy_on_request_headers", uint64(id), uint64(n), flag(end)))
}

func (m *module) requestBody(id uint32, size int, end bool) types.Action {
	return types.Action(m.call("proxy_on_request_body", uint64(id), uint64(size), flag(end)))
}

func (m *module) requestTrailers(id uint32) types.Action {
	return types.Action(m.call("proxy_on_request_trailers", uint64(id), 0))
}

func (m *module) responseHeaders(id uint32, n int, end bool) types.Action {
	return types.Action(m.call("proxy_on_response_headers", uint64(id), uint64(n), flag(end)))
}

func (m *module) responseBody(id uint32, size int, end bool) types.Action {
	return types.Action(m.call("proxy_on_response_body", uint64(id), uint64(size), flag(end)))
}

func (m *module) finish(id uint32) {
	m.call("proxy_on_done", uint64(id))
	m.call("proxy_on_log", uint64(id))
	m.call("proxy_on_delete", uint64(id))
}

func (m *module) done(root uint32) {
	m.call("proxy_on_done", uint64(root))
	m.call("proxy_on_delete", uint64(root))
}

func (m *module) tick(root uint32) { m.call("proxy_on_tick", uint64(root)) }

func (m *module) queueReady(root, queue uint32) {
	m.call("proxy_on_queue_ready", uint64(root), uint64(queue))
}

func (m *module) callResponse(root, token uint32, n, size int) {
	m.call("proxy_on_http_call_response", uint64(root), uint64(token), uint64(n), uint64(size), 0)
}

// guestMemory is the module's linear memory during a host call.
type guestMemory struct {
	api.Memory
	allocate api.Function
}

func memoryOf(m api.Module) guestMemory {
	return guestMemory{m.Memory(), m.ExportedFunction("proxy_on_memory_allocate")}
}

func (g guestMemory) bytes(at, size uint32) []byte {
	b, ok := g.Read(at, size)
	if !ok {
		panic("a host call got an address outside of memory")
	}
	return b
}

func (g guestMemory) text(at, size uint32) string { return string(g.bytes(at, size)) }

// give copies b into memory that the guest allocates and stores where.
func (g guestMemory) give(b []byte, at, size uint32) {
	var address uint32
	if len(b) > 0 {
		out, err := g.allocate.Call(context.Background(), uint64(len(b)))
		if err != nil {
			panic(err)
		}
		address = uint32(out[0])
		g.Write(address, b)
	}
	g.WriteUint32Le(at, address)
	g.WriteUint32Le(size, uint32(len(b)))
}

// Statuses of the ABI.
const (
	ok       = 0
	notFound = 1
	mismatch = 8
)

func found(b bool) uint32 {
	if b {
		return ok
	}
	return notFound
}

// exportHost binds the ABI's host calls to the fakeHost of the running test.
func exportHost(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder("env")
	for name, f := range map[string]any{
		"proxy_set_effective_context": func(_ context.Context, id uint32) uint32 {
			compiled.host.setContext(id)
			return ok
		},
		"proxy_get_header_map_pairs": func(_ context.Context, m api.Module, kind, at, size uint32) uint32 {
			memoryOf(m).give(compiled.host.headers(mapType(kind)), at, size)
			return ok
		},
		"proxy_replace_header_map_value": func(_ context.Context, m api.Module, kind, k, kn, v, vn uint32) uint32 {
			g := memoryOf(m)
			compiled.host.setHeader(mapType(kind), g.text(k, kn), g.bytes(v, vn))
			return ok
		},
		"proxy_remove_header_map_value": func(_ context.Context, m api.Module, kind, k, kn uint32) uint32 {
			compiled.host.removeHeader(mapType(kind), memoryOf(m).text(k, kn))
			return ok
		},
		"proxy_get_buffer_bytes": func(_ context.Context, m api.Module, kind, start, limit, at, size uint32) uint32 {
			memoryOf(m).give(compiled.host.body(bufferType(kind), int(start), int(limit)), at, size)
			return ok
		},
		"proxy_get_property": func(_ context.Context, m api.Module, k, kn, at, size uint32) uint32 {
			g := memoryOf(m)
			b, known := compiled.host.property(g.text(k, kn))
			g.give(b, at, size)
			return found(known)
		},
		"proxy_continue_stream": func(_ context.Context, _ uint32) uint32 {
			compiled.host.continueRequest()
			return ok
		},
		"proxy_send_local_response": func(_ context.Context, m api.Module, status, _, _, b, bn, h, hn, _ uint32) uint32 {
			g := memoryOf(m)
			var lines [][2]string
			for k, v := range headerMap(g.bytes(h, hn)).lines {
				lines = append(lines, [2]string{string(k), string(v)})
			}
			compiled.host.reply(int(status), lines, g.bytes(b, bn))
			return ok
		},
		"proxy_set_tick_period_milliseconds": func(_ context.Context, period uint32) uint32 {
			compiled.host.tickPeriod(time.Duration(period) * time.Millisecond)
			return ok
		},
		"proxy_get_current_time_nanoseconds": func(_ context.Context, m api.Module, at uint32) uint32 {
			m.Memory().WriteUint64Le(at, uint64(compiled.host.now()))
			return ok
		},
		"proxy_get_log_level": func(_ context.Context, m api.Module, at uint32) uint32 {
			level := logInfo
			if compiled.host.debugging() {
				level = logDebug
			}
			m.Memory().WriteUint32Le(at, uint32(level))
			return ok
		},
		"proxy_log": func(_ context.Context, m api.Module, level, k, kn uint32) uint32 {
			compiled.host.log(logLevel(level), memoryOf(m).text(k, kn))
			return ok
		},
		"proxy_get_shared_data": func(_ context.Context, m api.Module, k, kn, at, size, cas uint32) uint32 {
			g := memoryOf(m)
			b, n, known := compiled.host.sharedData(g.text(k, kn))
			g.give(b, at, size)
			g.WriteUint32Le(cas, n)
			return found(known)
		},
		"proxy_set_shared_data": func(_ context.Context, m api.Module, k, kn, v, vn, cas uint32) uint32 {
			g := memoryOf(m)
			if !compiled.host.setSharedData(g.text(k, kn), g.bytes(v, vn), cas) {
				return mismatch
			}
			return ok
		},
		"proxy_register_shared_queue": func(_ context.Context, m api.Module, k, kn, at uint32) uint32 {
			q, known := compiled.host.registerQueue(memoryOf(m).text(k, kn))
			m.Memory().WriteUint32Le(at, q)
			return found(known)
		},
		"proxy_resolve_shared_queue": func(_ context.Context, m api.Module, _, _, k, kn, at uint32) uint32 {
			q, known := compiled.host.resolveQueue(memoryOf(m).text(k, kn))
			m.Memory().WriteUint32Le(at, q)
			return found(known)
		},
		"proxy_enqueue_shared_queue": func(_ context.Context, m api.Module, q, v, vn uint32) uint32 {
			return found(compiled.host.enqueue(q, memoryOf(m).bytes(v, vn)))
		},
		"proxy_dequeue_shared_queue": func(_ context.Context, m api.Module, q, at, size uint32) uint32 {
			b, known := compiled.host.dequeue(q)
			memoryOf(m).give(b, at, size)
			return found(known)
		},
		"proxy_http_call": func(_ context.Context, m api.Module, c, cn, h, hn, _, _, _, _, timeout, at uint32) uint32 {
			g := memoryOf(m)
			var lines [][2]string
			for k, v := range headerMap(g.bytes(h, hn)).lines {
				lines = append(lines, [2]string{string(k), string(v)})
			}
			token, known := compiled.host.call(g.text(c, cn), lines, time.Duration(timeout)*time.Millisecond)
			g.WriteUint32Le(at, token)
			return found(known)
		},
		"proxy_define_metric": func(_ context.Context, m api.Module, kind, k, kn, at uint32) uint32 {
			id, _ := compiled.host.defineMetric(metricKind(kind), memoryOf(m).text(k, kn))
			m.Memory().WriteUint32Le(at, id)
			return ok
		},
		"proxy_increment_metric": func(_ context.Context, id uint32, delta int64) uint32 {
			compiled.host.addMetric(id, delta)
			return ok
		},
		"proxy_record_metric": func(_ context.Context, id uint32, value uint64) uint32 {
			compiled.host.recordMetric(id, value)
			return ok
		},
	} {
		b = b.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}
