// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// serveMetrics writes the page of vLLM's metrics, those that routers read,
// under vLLM's names and labels.
func (e *Engine) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	e.mu.Lock()
	stats, use, started := e.stats, e.cache.use(), e.started
	e.mu.Unlock()

	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if page := e.scripted().Metrics; page != "" {
		io.WriteString(w, page) //nolint:errcheck // a lost client
		return
	}
	p := metricsPage{w, `engine="0",model_name="sim"`}
	p.write("gauge", "vllm:num_requests_running", float64(stats.Running))
	p.write("gauge", "vllm:num_requests_waiting", float64(stats.Waiting))
	p.write("gauge", "vllm:kv_cache_usage_perc", use)
	p.write("counter", "vllm:prompt_tokens_total", float64(stats.Prompt))
	p.write("counter", "vllm:generation_tokens_total", float64(stats.Output))
	p.write("counter", "vllm:prefix_cache_queries_total", float64(stats.Prompt))
	p.write("counter", "vllm:prefix_cache_hits_total", float64(stats.Cached))

	p.labels = fmt.Sprintf(`block_size="%d",cache_dtype="auto",enable_prefix_caching="True",engine="0",num_gpu_blocks="%d"`,
		e.config.BlockTokens, e.config.CacheTokens/e.config.BlockTokens)
	p.write("gauge", "vllm:cache_config_info", 1)
	p.labels = ""
	p.write("gauge", "process_start_time_seconds", float64(started.UnixMilli())/1000)
}

type metricsPage struct {
	w      io.Writer
	labels string
}

func (p metricsPage) write(kind, name string, value float64) {
	labels := p.labels
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(p.w, "# HELP %[1]s Simulated.\n# TYPE %[1]s %[2]s\n%[1]s%[3]s %[4]s\n",
		name, kind, labels, strconv.FormatFloat(value, 'g', -1, 64))
}
