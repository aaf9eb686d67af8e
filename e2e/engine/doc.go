// SPDX-License-Identifier: Apache-2.0

// Package engine simulates an LLM inference engine: its HTTP APIs, its KV
// prefix cache and the time it takes. No model runs; the answers are made up.
//
//	request ─> render the prompt as a chat template does ─> blocks of tokens
//	        ─> wait for the prefills before it (first come, first served)
//	        ─> look the blocks up in the cache; the rest takes tokens ÷ prefill rate
//	        ─> first token ─> decode at a fixed rate, many requests at a time
//	        ─> prompt and answer stay in the cache until others push them out
//
// What is modelled, because a router's success depends on it: which prompts
// share a prefix as the engine sees it (tools stand first, whatever the order
// of the JSON keys), a cache of limited size with least recently used eviction,
// prefill as the queue that everyone waits in, response headers that come
// before prefill ends, cached_tokens in the usage, a metrics page, and engines
// that refuse, hang, fail, slow down or restart.
//
// What is not: decoding does not slow prefill, prefill is not chunked, running
// requests do not hold their blocks against eviction, and a token is four
// bytes of prompt.
//
// The rendering is this package's own (encoding/json) and shares no code with
// the router under test, so that a fault in one cannot hide in the other.
package engine
