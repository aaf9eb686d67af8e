// SPDX-License-Identifier: Apache-2.0

package metrics

// Engine is the kind of server that a page comes from.
type Engine uint8

// The engines, those that give way to others first.
const (
	Unknown      Engine = iota
	Configured          // only names from the configuration were found
	Unprefixed          // bare names that MindIE and NIM share
	NIM                 // NVIDIA NIM
	MindIE              // Ascend MindIE
	LMDeploy            // InternLM LMDeploy
	LlamaCPP            // llama.cpp's server
	TGI                 // Hugging Face text-generation-inference
	Triton              // NVIDIA Triton with another backend than TensorRT-LLM
	TritonTRTLLM        // NVIDIA Triton with TensorRT-LLM
	TRTLLM              // trtllm-serve
	SGLang
	VLLM
)

var engineNames = [...]string{
	"unknown", "configured", "unprefixed", "nim", "mindie", "lmdeploy", "llamacpp", "tgi",
	"triton", "triton_trtllm", "trtllm", "sglang", "vllm",
}

// String returns a name that is safe in metrics and configuration.
func (e Engine) String() string {
	if int(e) < len(engineNames) {
		return engineNames[e]
	}
	return engineNames[Unknown]
}

// kin returns the first of the engines whose metrics add to those of e on one page.
func (e Engine) kin() Engine {
	switch e {
	case TritonTRTLLM:
		return Triton
	case NIM, MindIE:
		return Unprefixed
	}
	return e
}

// rule says how series of one field become one number.
type rule uint8

const (
	sum rule = iota
	mean
	largest
)

// metric is what one metric name stands for.
type metric struct {
	field Field
	rule  rule
	rank  uint8 // of two names for one field the one of higher rank counts alone

	engine  Engine // more exact than the family's; 0: the family's
	percent bool   // the value is a percentage, even up to 1

	label, value  string // only series with label="value"; "": all
	part          string // series in which this label is not empty are parts of other series
	factor, times string // the value is the product of these two labels' numbers
}

// family is the metrics that share a prefix.
type family struct {
	prefix  string
	engine  Engine
	metrics map[string][]metric // by the name after the prefix
}

// customRank outranks what the tables below have.
const customRank = 255

// families in the order in which prefixes are tried; the empty one is last.
var families = []family{
	{"vllm:", VLLM, vllm},
	{"sglang:", SGLang, sglang},
	{"sglang_", SGLang, sglang},
	{"nv_trt_llm_", TritonTRTLLM, tritonTRTLLM},
	{"nv_inference_", Triton, triton},
	{"trtllm_", TRTLLM, trtllm},
	{"tgi_", TGI, tgi},
	{"llamacpp:", LlamaCPP, llamaCPP},
	{"lmdeploy:", LMDeploy, lmdeploy},
	{"", Unknown, unprefixed},
}

var vllm = map[string][]metric{
	"num_requests_waiting":           {{field: Waiting}},
	"num_requests_running":           {{field: Running}},
	"kv_cache_usage_perc":            {{field: KVUse, rule: mean, rank: 1}},
	"gpu_cache_usage_perc":           {{field: KVUse, rule: mean}},
	"cache_config_info":              {{field: KVTokens, factor: "num_gpu_blocks", times: "block_size"}},
	"prompt_tokens_total":            {{field: PromptTokens}},
	"generation_tokens_total":        {{field: GenerationTokens}},
	"prefix_cache_queries_total":     {{field: PrefixQueries, rank: 1}},
	"prefix_cache_hits_total":        {{field: PrefixHits, rank: 1}},
	"gpu_prefix_cache_queries_total": {{field: PrefixQueries}},
	"gpu_prefix_cache_hits_total":    {{field: PrefixHits}},
	"gpu_prefix_cache_hit_rate":      {{field: HitRate, rule: mean}},
	"lora_requests_info":             {{field: Adapters}},
}

var sglang = map[string][]metric{
	"num_queue_reqs":          {{field: Waiting, rank: 2, part: "priority"}},
	"num_requests_waiting":    {{field: Waiting, rank: 1}},
	"queue_req":               {{field: Waiting}},
	"num_running_reqs":        {{field: Running, rank: 2, part: "priority"}},
	"num_requests_running":    {{field: Running, rank: 1}},
	"running_req":             {{field: Running}},
	"token_usage":             {{field: KVUse, rule: mean}},
	"max_total_num_tokens":    {{field: KVTokens, rank: 1}},
	"cache_config_info":       {{field: KVTokens, factor: "num_pages", times: "page_size"}},
	"num_used_tokens":         {{field: KVUsed}},
	"max_running_requests":    {{field: MaxRunning}},
	"prompt_tokens_total":     {{field: PromptTokens}},
	"generation_tokens_total": {{field: GenerationTokens}},
	"cached_tokens_total":     {{field: PrefixHits}},
	"cache_hit_rate":          {{field: HitRate, rule: mean}},
}

var trtllm = map[string][]metric{
	"num_requests_waiting":      {{field: Waiting}},
	"num_requests_running":      {{field: Running}},
	"max_num_active_requests":   {{field: MaxRunning}},
	"kv_cache_utilization":      {{field: KVUse, rule: mean}},
	"kv_cache_hit_rate":         {{field: HitRate, rule: mean}},
	"kv_cache_max_blocks":       {{field: kvBlocks}},
	"kv_cache_used_blocks":      {{field: kvBlocksUsed}},
	"kv_cache_tokens_per_block": {{field: kvBlockSize, rule: largest}},
	"prompt_tokens_total":       {{field: PromptTokens}},
	"generation_tokens_total":   {{field: GenerationTokens}},
}

var tritonTRTLLM = map[string][]metric{
	"request_metrics": {
		{field: Waiting, rank: 1, label: "request_type", value: "waiting"},
		{field: Running, label: "request_type", value: "scheduled"},
		{field: MaxRunning, label: "request_type", value: "max"},
	},
	"kv_cache_block_metrics": {
		{field: KVUse, rule: mean, label: "kv_cache_block_type", value: "fraction"},
		{field: kvBlocks, label: "kv_cache_block_type", value: "max"},
		{field: kvBlocksUsed, label: "kv_cache_block_type", value: "used"},
		{field: kvBlockSize, rule: largest, label: "kv_cache_block_type", value: "tokens_per"},
	},
}

var triton = map[string][]metric{
	"pending_request_count": {{field: Waiting, rule: largest}},
}

var tgi = map[string][]metric{
	"queue_size":                   {{field: Waiting}},
	"batch_current_size":           {{field: Running}},
	"request_input_length_sum":     {{field: PromptTokens}},
	"request_generated_tokens_sum": {{field: GenerationTokens}},
}

var llamaCPP = map[string][]metric{
	"requests_deferred":      {{field: Waiting}},
	"requests_processing":    {{field: Running}},
	"kv_cache_usage_ratio":   {{field: KVUse, rule: mean}},
	"kv_cache_tokens":        {{field: KVUsed}},
	"prompt_tokens_total":    {{field: PromptTokens}},
	"tokens_predicted_total": {{field: GenerationTokens}},
}

var lmdeploy = map[string][]metric{
	"num_requests_waiting":     {{field: Waiting}},
	"num_api_requests_waiting": {{field: Waiting}},
	"num_requests_running":     {{field: Running}},
	"gpu_cache_usage_perc":     {{field: KVUse, rule: mean}},
	"prefix_cache_hit_rate":    {{field: HitRate, rule: mean}},
	"prompt_tokens_total":      {{field: PromptTokens}},
	"generation_tokens_total":  {{field: GenerationTokens}},
}

var unprefixed = map[string][]metric{
	"process_start_time_seconds": {{field: StartTime, rule: largest}},
	"num_requests_waiting":       {{field: Waiting, engine: Unprefixed}},
	"num_requests_running":       {{field: Running, engine: Unprefixed}},
	"num_request_max":            {{field: MaxRunning, engine: NIM}},
	"npu_cache_usage_perc":       {{field: KVUse, rule: mean, rank: 1, engine: MindIE}},
	"gpu_cache_usage_perc":       {{field: KVUse, rule: mean, engine: NIM}},
	"npu_prefix_cache_hit_rate":  {{field: HitRate, rule: mean, engine: MindIE}},
	"prompt_tokens_total":        {{field: PromptTokens, engine: Unprefixed}},
	"generation_tokens_total":    {{field: GenerationTokens, engine: Unprefixed}},
}
