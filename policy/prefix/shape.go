// SPDX-License-Identifier: Apache-2.0

package prefix

import "strings"

// Shape names the request API a body is written for: which of its keys carry the prompt, and in
// what order a chat template renders them. The zero Shape is no known API.
type Shape uint8

const (
	Chat           Shape = iota + 1 // OpenAI chat completions, and what copies it
	Completions                     // OpenAI completions: prompt as text, texts, token ids
	Responses                       // OpenAI Responses: instructions, input
	Embeddings                      // OpenAI, vLLM and Ollama embeddings, pooling, classification
	Rerank                          // Jina and Cohere rerank, vLLM score
	Messages                        // Anthropic messages and count_tokens
	Generate                        // vLLM and SGLang /generate: text, input_ids, prompt; TGI's inputs
	TGI                             // Text Generation Inference: inputs
	LlamaCPP                        // llama.cpp /completion
	OllamaChat                      // Ollama /api/chat
	OllamaGenerate                  // Ollama /api/generate
	shapes
)

var shapeNames = [shapes]string{
	"none", "chat", "completions", "responses", "embeddings", "rerank", "messages",
	"generate", "tgi", "llamacpp", "ollama-chat", "ollama-generate",
}

// String returns the name that configurations and metrics use, "none" for the zero Shape.
func (s Shape) String() string {
	if s >= shapes {
		return shapeNames[0]
	}
	return shapeNames[s]
}

// ParseShape returns the Shape with the given name; "none" and unknown names are not ok.
func ParseShape(name string) (Shape, bool) {
	for s := Chat; s < shapes; s++ {
		if shapeNames[s] == name {
			return s, true
		}
	}
	return 0, false
}

// endings maps the ends of request paths to shapes. The first that fits wins, so the longer one
// of two that share an end stands first: /v1/chat/completions/batch is a chat of several lists.
var endings = [...]struct {
	end   string
	shape Shape
}{
	{"/chat/completions", Chat},
	{"/chat/completions/batch", Chat},
	{"/completions", Completions},
	{"/responses", Responses},
	{"/responses/input_tokens", Responses},
	{"/messages", Messages},
	{"/messages/count_tokens", Messages},
	{"/embeddings", Embeddings},
	{"/embed", Embeddings},
	{"/pooling", Embeddings},
	{"/classify", Embeddings},
	{"/rerank", Rerank},
	{"/score", Rerank},
	{"/api/chat", OllamaChat},
	{"/api/generate", OllamaGenerate},
	{"/generate", Generate},
	{"/generate_stream", TGI},
	{"/completion", LlamaCPP},
}

// ShapeOf returns the shape of a request path by the path's end, so that prefixes such as /openai
// or an Azure deployment do not matter; 0 if no end is known. A query string, a fragment and one
// slash at the end are ignored. No allocation.
func ShapeOf(path string) Shape {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	path = strings.TrimSuffix(path, "/")
	for i := range endings {
		if strings.HasSuffix(path, endings[i].end) {
			return endings[i].shape
		}
	}
	return 0
}
