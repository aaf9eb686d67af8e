// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	for _, c := range []struct {
		name, page string
		want       values
		unusable   int
		overlong   int
	}{
		{"no line feed at the end", "tgi_queue_size 3", values{Waiting: 3}, 0, 0},
		{"carriage returns", "tgi_queue_size 3\r\ntgi_batch_current_size 4\r\n", values{Waiting: 3, Running: 4}, 0, 0},
		{"white space everywhere", " \ttgi_queue_size\t{ a = \"b\" , c=\"d\", } \t3 \t 17 \n", values{Waiting: 3}, 0, 0},
		{"time stamp", "tgi_queue_size 3 1712345678000", values{Waiting: 3}, 0, 0},
		{"exemplar", `tgi_request_input_length_sum 9 # {trace_id="a"} 1.0 17`, values{PromptTokens: 9}, 0, 0},
		{"time stamp and exemplar", `tgi_request_input_length_sum 9 17 # {} 1`, values{PromptTokens: 9}, 0, 0},
		{"end marker of OpenMetrics", "tgi_queue_size 3\n# EOF\n", values{Waiting: 3}, 0, 0},
		{"same series twice counts once", "tgi_queue_size 3\ntgi_queue_size 3\n", values{Waiting: 3}, 0, 0},
		{"labels in another order are the same series",
			"vllm:num_requests_waiting{a=\"1\",b=\"2\"} 3\nvllm:num_requests_waiting{b=\"2\",a=\"1\"} 3\n", values{Waiting: 3}, 0, 0},
		{"labels with values exchanged are two series",
			"vllm:num_requests_waiting{a=\"1\",b=\"2\"} 3\nvllm:num_requests_waiting{a=\"2\",b=\"1\"} 3\n", values{Waiting: 6}, 0, 0},
		{"bytes moved from a label's name to its value make two series",
			"vllm:num_requests_waiting{ab=\"c\"} 3\nvllm:num_requests_waiting{a=\"bc\"} 3\n", values{Waiting: 6}, 0, 0},
		{"empty label is no label", "tgi_queue_size{a=\"\"} 3\ntgi_queue_size 3\n", values{Waiting: 3}, 0, 0},
		{"brace and escaped quote in a label", "tgi_queue_size{a=\"\\\"} 9\\\\\"} 3\n", values{Waiting: 3}, 0, 0},
		{"HELP of a known name", "# HELP tgi_queue_size 8\n#tgi_queue_size 8\n", values{}, 0, 0},
		{"longer name", "tgi_queue_size_created 8\ntgi_queue_siz 8\n", values{}, 0, 0},
		{"value missing", "tgi_queue_size\ntgi_queue_size{}\n", values{}, 2, 0},
		{"labels not closed", "tgi_queue_size{a=\"b\" 3\ntgi_queue_size{a=\"b 3\ntgi_queue_size{a\n", values{}, 3, 0},
		{"label without a name", "tgi_queue_size{=\"b\"} 3\n", values{}, 1, 0},
		{"text after the value", "tgi_queue_size 3 three\ntgi_queue_size 3 17 18\n", values{}, 2, 0},
		{"hexadecimal, underscores, infinities", "tgi_queue_size 0x3\ntgi_queue_size 1_0\ntgi_queue_size +Inf\n", values{}, 3, 0},
		{"line too long", "tgi_queue_size{a=\"" + long + "\"} 3\ntgi_batch_current_size 4\n", values{Running: 4}, 0, 1},
		{"last line too long", "tgi_batch_current_size 4\n" + long + long, values{Running: 4}, 0, 1},
		{"JSON", `{"tgi_queue_size": 3}` + "\n[1,2]\n", values{}, 0, 0},
		{"empty page", "", values{}, 0, 0},
	} {
		for _, window := range []int{1, 5, 1 << 20} {
			got := parse(newParser(t), []byte(c.page), window)
			check(t, c.name, got, c.want)
			if got.Unusable != c.unusable || got.Overlong != c.overlong {
				t.Errorf("%s: %d unusable, %d overlong, want %d, %d", c.name, got.Unusable, got.Overlong, c.unusable, c.overlong)
			}
		}
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name, page string
		engine     Engine
		want       values
	}{
		{"both KV names: the newer counts",
			"vllm:gpu_cache_usage_perc 0.2\nvllm:kv_cache_usage_perc 0.4\nvllm:gpu_cache_usage_perc{engine=\"1\"} 0.2\n",
			VLLM, values{KVUse: 0.4}},
		{"percent", "sglang:token_usage 42\n", SGLang, values{KVUse: 0.42}},
		{"a little over full", "sglang:token_usage 1.02\n", SGLang, values{KVUse: 1}},
		{"full", "sglang:token_usage 1.0\n", SGLang, values{KVUse: 1}},
		{"beyond all percent", "sglang:token_usage 101\n", SGLang, values{}},
		{"priorities are parts of the series without one",
			"sglang:num_queue_reqs{priority=\"\"} 5\nsglang:num_queue_reqs{priority=\"0\"} 2\nsglang:num_queue_reqs{priority=\"9\"} 3\n",
			SGLang, values{Waiting: 5}},
		{"copies that differ: the largest", "sglang:num_queue_reqs{tp_rank=\"0\"} 5\nsglang:num_queue_reqs{tp_rank=\"1\"} 6\nsglang:num_queue_reqs{tp_rank=\"2\"} 4\n",
			SGLang, values{Waiting: 6}},
		{"pages as block sizes", "sglang:cache_config_info{page_size=\"64\",num_pages=\"100\"} 1\n", SGLang, values{KVTokens: 6400}},
		{"token count before pages", "sglang:cache_config_info{page_size=\"64\",num_pages=\"100\"} 1\nsglang:max_total_num_tokens 6399\n",
			SGLang, values{KVTokens: 6399}},
		{"a cache for each engine", "vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"100\"} 1\n" +
			"vllm:cache_config_info{engine=\"1\",block_size=\"16\",num_gpu_blocks=\"50\"} 1\n", VLLM, values{KVTokens: 2400}},
		{"blocks not yet counted", "vllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"None\"} 1\n", VLLM, values{}},
		{"blocks and size as two metrics", "trtllm_kv_cache_max_blocks 100\ntrtllm_kv_cache_used_blocks 25\ntrtllm_kv_cache_tokens_per_block 32\n",
			TRTLLM, values{KVTokens: 3200, KVUsed: 800, KVUse: 0.25}},
		{"Triton's ensemble and its step", "nv_inference_pending_request_count{model=\"ensemble\"} 4\nnv_inference_pending_request_count{model=\"llm\"} 3\n",
			Triton, values{Waiting: 4}},
		{"Triton with vLLM", "nv_inference_pending_request_count{model=\"llm\"} 9\nvllm:num_requests_waiting 4\n",
			VLLM, values{Waiting: 4}},
		{"vLLM with Triton", "vllm:num_requests_waiting 4\nnv_inference_pending_request_count{model=\"llm\"} 9\n",
			VLLM, values{Waiting: 4}},
		{"TensorRT-LLM's queue before Triton's", "nv_trt_llm_request_metrics{request_type=\"waiting\"} 2\nnv_inference_pending_request_count 9\n",
			TritonTRTLLM, values{Waiting: 2}},
		{"NIM", "gpu_cache_usage_perc 0.5\nnum_requests_waiting 1\nnum_request_max 256\n", NIM, values{KVUse: 0.5, Waiting: 1, MaxRunning: 256}},
		{"bare counts", "num_requests_waiting 1\n", Unprefixed, values{Waiting: 1}},
		{"latest process", "process_start_time_seconds{pid=\"1\"} 100\nprocess_start_time_seconds{pid=\"2\"} 200\n", Unknown, values{StartTime: 200}},
		{"start time stays when the engine is found late", "process_start_time_seconds 100\nnum_requests_waiting 3\nvllm:num_requests_waiting 1\n",
			VLLM, values{StartTime: 100, Waiting: 1}},
	} {
		got := parse(newParser(t), []byte(c.page), 1<<20)
		if got.Engine != c.engine {
			t.Errorf("%s: engine %v, want %v", c.name, got.Engine, c.engine)
		}
		check(t, c.name, got, c.want)
	}
}

func TestAdapters(t *testing.T) {
	const newest = `vllm:lora_requests_info{max_lora="4",running_lora_adapters="sql,chat",waiting_lora_adapters="x"} 30` + "\n"
	for _, c := range []struct{ name, page, want string }{
		{"newest first", newest + `vllm:lora_requests_info{max_lora="4",running_lora_adapters="old"} 20`, "sql,chat"},
		{"newest last", `vllm:lora_requests_info{max_lora="4",running_lora_adapters="old"} 20` + "\n" + newest, "sql,chat"},
		{"malformed", newest + `vllm:lora_requests_info{max_lora="4",running_lora_adapters="bad} 40`, "sql,chat"},
	} {
		got := parse(newParser(t), []byte(c.page), 11)
		if string(got.Adapters) != c.want || got.MaxAdapters != 4 {
			t.Errorf("%s: adapters %q of %v, want %q of 4", c.name, got.Adapters, got.MaxAdapters, c.want)
		}
	}
}

func TestConfiguredNames(t *testing.T) {
	custom := []Custom{
		{Field: Waiting, Name: "my_queue", Label: "state", Value: "waiting"},
		{Field: Running, Name: "my_queue", Label: "state", Value: "running"},
		{Field: KVUse, Name: "my_cache", Percent: true},
	}
	for _, c := range []struct {
		name, page string
		engine     Engine
		want       values
	}{
		{"a page of its own", "my_queue{state=\"waiting\",m=\"a\"} 1\nmy_queue{state=\"waiting\",m=\"b\"} 2\nmy_queue{state=\"running\"} 4\nmy_queue{state=\"idle\"} 8\n",
			Configured, values{Waiting: 3, Running: 4}},
		{"percent below one", "my_cache 0.5\n", Configured, values{KVUse: 0.005}},
		{"outranks what is known", "my_queue{state=\"waiting\"} 1\nvllm:num_requests_waiting 9\nvllm:num_requests_running 2\n",
			VLLM, values{Waiting: 1, Running: 2}},
		{"outranks from behind", "vllm:num_requests_waiting 9\nmy_queue{state=\"waiting\"} 1\n", VLLM, values{Waiting: 1}},
	} {
		got := parse(newParser(t, custom...), []byte(c.page), 1<<20)
		if got.Engine != c.engine {
			t.Errorf("%s: engine %v, want %v", c.name, got.Engine, c.engine)
		}
		check(t, c.name, got, c.want)
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := New([]Custom{
		{Field: Waiting, Name: "fine:name_1"},
		{Field: Waiting, Name: "1name"},
		{Field: Adapters, Name: "name"},
		{Field: Waiting, Name: "name", Label: "a:b", Value: "c"},
		{Field: Waiting, Name: "name", Value: "c"},
	})
	for _, want := range []error{ErrName, ErrField, ErrLabel} {
		if !errors.Is(err, want) {
			t.Errorf("New = %v, want %v among its errors", err, want)
		}
	}
	want := "metrics: name 1: not a metric name\nmetrics: name 2: not a field that a metric can give\n" +
		"metrics: name 3: not a label name\nmetrics: name 4: not a label name"
	if err == nil || err.Error() != want {
		t.Errorf("New = %v, want %s", err, want)
	}
}

func TestNames(t *testing.T) {
	for f := range fieldCount {
		if got, ok := ParseField(f.String()); ok != (f <= Adapters) || ok && got != f {
			t.Errorf("ParseField(%q) = %v, %v", f.String(), got, ok)
		}
	}
	seen := map[string]bool{}
	for e := Unknown; e <= VLLM; e++ {
		seen[e.String()] = true
	}
	if len(seen) != int(VLLM)+1 {
		t.Errorf("%d names for %d engines", len(seen), VLLM+1)
	}
}

// TestManySeries has more series than fit: those beyond are counted and left out.
func TestManySeries(t *testing.T) {
	var page bytes.Buffer
	for i := range 3 * MaxSeries {
		fmt.Fprintf(&page, "vllm:num_requests_waiting{i=\"%d\"} 1\n", i)
	}
	got := parse(newParser(t), page.Bytes(), 4096)
	check(t, "many series", got, values{Waiting: MaxSeries})
	if got.Dropped != 2*MaxSeries {
		t.Errorf("%d samples dropped, want %d", got.Dropped, 2*MaxSeries)
	}
}

func TestResetForgets(t *testing.T) {
	p := newParser(t)
	parse(p, []byte("vllm:num_requests_waiting{a=\"b\"} 7\nvllm:lora_requests_info{max_lora=\"1\",running_lora_adapters=\"a\"} 1\nbad"), 8)
	got := parse(p, []byte("vllm:num_requests_waiting{a=\"b\"} 5\n"), 8)
	check(t, "second page", got, values{Waiting: 5})
	if got.Lines != 1 || len(got.Adapters) > 0 {
		t.Errorf("second page: %d lines, adapters %q, want 1, none", got.Lines, got.Adapters)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	page := []byte("vllm:num_requests_waiting{a=\"b\"} 7\nvllm:num_requests_running 1e999\n# comment\nother{x=\"y\"} 1\n" +
		"vllm:lora_requests_info{max_lora=\"1\",running_lora_adapters=\"a\"} 1\n")
	p := newParser(t)
	allocs := testing.AllocsPerRun(100, func() {
		p.Reset()
		p.Write(page[:50])
		p.Write(page[50:])
		p.Close()
		p.Result()
	})
	if allocs != 0 {
		t.Errorf("%v allocations a page, want 0", allocs)
	}
}
