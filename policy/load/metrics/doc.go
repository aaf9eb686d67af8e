// SPDX-License-Identifier: Apache-2.0

// Package metrics reads how busy an inference engine is from the page that it serves to
// Prometheus (text format 0.0.4 or OpenMetrics).
//
//	windows → lines → name known? → labels, value → sums per field → Result
//	                  └ no: next line (nine lines of ten)
//
// The page may be cut into windows at any byte; the result is the same for every cut. Time is
// linear in the page, memory constant (a Parser is about 30 KB): a line longer than MaxLine is
// left out whole, and so are series beyond MaxSeries.
//
// The engine is known by the prefix of its names. Where a page shows several (Triton with its
// vLLM backend shows both), the first of this list is taken and the others are ignored: vLLM,
// SGLang, TensorRT-LLM, Triton with TensorRT-LLM, Triton, TGI, llama.cpp, LMDeploy, names without
// a prefix (MindIE, NIM). Names from the configuration count on any page and outrank the table.
//
// # Fields
//
// A page shows a metric once for each model, data-parallel engine or rank, or router's worker.
// The table says how they become one number: requests and tokens add up over all of them; of a
// ratio the mean is taken, since the next request meets one of the engines and not the fullest;
// where one request is counted in several series, the maximum.
//
//	engine        Waiting              Running              KVUse                  KVTokens
//	vLLM          sum num_requests_    sum num_requests_    mean kv_cache_         sum cache_config_info
//	              waiting              running              usage_perc, else       block_size ×
//	                                                        gpu_cache_usage_perc   num_gpu_blocks
//	SGLang        sum num_queue_reqs,  sum                  mean token_usage       sum max_total_num_tokens,
//	              else num_requests_   num_running_reqs                            else cache_config_info
//	              waiting, queue_req                                               page_size × num_pages
//	TensorRT-LLM  sum num_requests_    sum num_requests_    mean kv_cache_         sum kv_cache_max_blocks
//	              waiting              running              utilization, else      × tokens_per_block
//	                                                        used ÷ max blocks
//	Triton +      sum request_metrics  sum request_metrics  mean kv_cache_block_   sum of block_metrics max
//	TensorRT-LLM  waiting, else as     scheduled            metrics fraction,      × tokens_per
//	              Triton                                    else used ÷ max
//	Triton        max pending_request  –                    –                      –
//	              _count (an ensemble
//	              and its steps count
//	              the same request)
//	TGI           sum queue_size       sum batch_current_   – (it has none)        –
//	                                   size
//	llama.cpp     sum requests_        sum requests_        mean kv_cache_usage_   –
//	              deferred             processing           ratio (old builds)
//	LMDeploy      sum num_requests_    sum num_requests_    mean gpu_cache_        –
//	              waiting + num_api_   running              usage_perc
//	              requests_waiting
//	no prefix     sum num_requests_    sum num_requests_    mean npu_cache_        –
//	              waiting              running              usage_perc, else
//	                                                        gpu_cache_usage_perc
//
// PromptTokens, GenerationTokens, PrefixQueries, PrefixHits, MaxRunning and KVUsed are sums;
// HitRate is a mean; StartTime is the latest process_start_time_seconds. Counters are as the
// engine shows them: whoever reads them takes differences, and a counter that goes back or a
// StartTime that moves means that the engine has restarted. Series named …_created are not used:
// they begin when a label is first seen.
//
// # Traps
//
//   - Series that differ only in tp_rank, pp_rank or moe_ep_rank are copies: the largest counts once.
//   - SGLang's series with a priority are parts of the one without: they are left out.
//   - Names are compared whole: num_requests_waiting_by_reason is not num_requests_waiting.
//   - Two names for one field (both KV names are shown by some versions) never add up.
//   - Negative numbers, NaN and infinities are no data, -1 for a ratio included. A ratio over 1
//     is a percentage up to 100; what lies between 1 and 1.5 is rounding and taken as 1.
//   - HELP and TYPE lines are not needed and not read; time stamps and exemplars are passed over.
//   - Of several lora_requests_info series the one with the latest time counts.
//   - For block counts and sizes that come as two metrics, all models of a page are taken to have
//     the same block size.
//
// A page of an answer other than 200 must not be read. Of a page that was not read to its end,
// don't Close it: its last line may be half a number.
package metrics
