// SPDX-License-Identifier: Apache-2.0

package prefix

// slot names a field: a value that is hashed as one, whatever is in it.
type slot uint8

// Fields of the body, which make the tag.
const (
	slotModel slot = iota
	slotLoraPath
	slotAdapterID
	slotLora
	slotCacheSalt
	slotExtraKey
	slotTools
	slotFunctions
	slotDocuments
	slotChatTemplate
	slotKwargs
	slotEffort
	slotReasoning
	slotThinking
	slotThink
	slotEnableThinking
	slotProcessor
	slotSuffix
	slotTemplate
	slotContext
	slotRaw
	slotImages
	slotImageData
	slotEmbeds
	slotSpecialTokens
	slotTruncate
	slotPromptObject
	slotPrevious
	slotConversation
	tagSlots
)

// Fields of messages, items and parts.
const (
	slotName slot = tagSlots + iota
	slotCallID
	slotToolCalls
	slotFunctionCall
	slotReasoningContent
	slotRefusal
	slotArguments
	slotInput
	slotOutput
	slotSummary
	slotEncrypted
	slotToolName
	slotAction
	slotType
	slotTitle
	slotContextText
	slotResult
	slotIsError
	slotData
	slotDetail
	slotImage
	slotImageURL
	slotSource
	slotInputAudio
	slotAudio
	slotAudioURL
	slotVideo
	slotVideoURL
	slotFile
	slotFileID
	slotFileData
	slotFileURL
	slots
)

// labels are the names that go into the hash of a field: the key in its first spelling.
var labels = [slots]string{
	slotModel: "model", slotLoraPath: "lora_path", slotAdapterID: "adapter_id", slotLora: "lora",
	slotCacheSalt: "cache_salt", slotExtraKey: "extra_key", slotTools: "tools",
	slotFunctions: "functions", slotDocuments: "documents", slotChatTemplate: "chat_template",
	slotKwargs: "chat_template_kwargs", slotEffort: "reasoning_effort", slotReasoning: "reasoning",
	slotThinking: "thinking", slotThink: "think", slotEnableThinking: "enable_thinking", slotProcessor: "mm_processor_kwargs",
	slotSuffix: "suffix", slotTemplate: "template", slotContext: "context", slotRaw: "raw",
	slotImages: "images", slotImageData: "image_data", slotEmbeds: "prompt_embeds",
	slotSpecialTokens: "add_special_tokens", slotTruncate: "truncate_prompt_tokens", slotPromptObject: "prompt",
	slotPrevious: "previous_response_id", slotConversation: "conversation",

	slotName: "name", slotCallID: "tool_call_id", slotToolCalls: "tool_calls",
	slotFunctionCall: "function_call", slotReasoningContent: "reasoning_content",
	slotRefusal: "refusal", slotArguments: "arguments", slotInput: "input", slotOutput: "output",
	slotSummary: "summary", slotEncrypted: "encrypted_content", slotToolName: "tool_name",
	slotAction: "action", slotType: "type", slotTitle: "title", slotContextText: "context",
	slotResult: "content", slotIsError: "is_error", slotData: "data", slotDetail: "detail",
	slotImage: "image", slotImageURL: "image_url", slotSource: "source",
	slotInputAudio: "input_audio", slotAudio: "audio", slotAudioURL: "audio_url",
	slotVideo: "video", slotVideoURL: "video_url", slotFile: "file", slotFileID: "file_id",
	slotFileData: "file_data", slotFileURL: "file_url",
}

var labelHashes = func() (h [slots]uint64) {
	for i, label := range labels {
		h[i] = hashString(0, label)
	}
	return h
}()

// fields returns the kind of a tag field.
func (s slot) fields() Fields {
	switch s {
	case slotModel, slotLoraPath, slotAdapterID, slotLora:
		return FieldModel
	case slotCacheSalt, slotExtraKey:
		return FieldSalt
	case slotTools, slotFunctions, slotDocuments:
		return FieldTools
	}
	return FieldTemplate
}

func isMedia(s slot) bool { return s == slotImages || s >= slotImage }

func keepOf(s slot) keep {
	switch s {
	case slotModel:
		return keepModel
	case slotPrevious:
		return keepPrevious
	case slotConversation:
		return keepConversation
	}
	return keepNone
}

// takesList reports whether the shape's prompt is a list of messages and nothing else.
func takesList(s Shape) bool { return s == Chat || s == Messages || s == OllamaChat }

// hasSystem reports whether the shape has a system prompt, or what stands in front like one, outside
// the messages.
func hasSystem(s Shape) bool {
	return s == Messages || s == Responses || s == OllamaGenerate || s == Rerank
}

// rootKey says what a key of the body is in a shape.
func rootKey(s Shape, key []byte) (target, slot) {
	if t := promptKey(s, key); t != targetSkip {
		return t, 0
	}
	switch string(key) {
	case "stream":
		return targetStream, 0
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict":
		return targetMaxTokens, 0
	case "parameters", "sampling_params", "options":
		return targetParams, 0
	}
	if i := tagKey(key); i < tagSlots && hasField(s, i) {
		return targetField, i
	}
	return targetSkip, 0
}

// hasField reports whether a tag field means something in a shape. The fields that engines or
// gateways add to several APIs count everywhere.
func hasField(s Shape, i slot) bool {
	switch i {
	case slotTemplate, slotContext, slotRaw:
		return s == OllamaGenerate
	case slotPromptObject, slotPrevious, slotConversation:
		return s == Responses
	}
	return true
}

// promptKey says whether a key of the body carries the prompt or a part of it.
func promptKey(s Shape, key []byte) target {
	switch string(key) {
	case "messages":
		if takesList(s) || s == Embeddings {
			return targetPrompt
		}
	case "prompt":
		switch s {
		case Completions, Embeddings, Generate, LlamaCPP, OllamaGenerate:
			return targetPrompt
		}
	case "input":
		if s == Responses || s == Embeddings {
			return targetPrompt
		}
	case "text", "input_ids":
		if s == Generate || s == Embeddings {
			return targetPrompt
		}
	case "inputs":
		if s == TGI || s == Generate || s == Embeddings {
			return targetPrompt
		}
	case "documents", "texts", "text_2":
		if s == Rerank {
			return targetPrompt
		}
	case "query", "text_1":
		if s == Rerank {
			return targetSystem
		}
	case "system":
		if s == Messages || s == OllamaGenerate {
			return targetSystem
		}
	case "instructions":
		if s == Responses {
			return targetSystem
		}
	}
	return targetSkip
}

// tagKey returns the tag field that a key of the body is, tagSlots if none.
func tagKey(key []byte) slot {
	if i, ok := tagKeys[string(key)]; ok {
		return i
	}
	return tagSlots
}

// tagKeys and fieldKeys find slots by their labels.
var (
	tagKeys   = slotsByLabel(0, tagSlots)
	fieldKeys = slotsByLabel(tagSlots, slots)
)

func slotsByLabel(from, to slot) map[string]slot {
	m := make(map[string]slot)
	for i := from; i < to; i++ {
		m[labels[i]] = i
	}
	return m
}

func paramsKey(key []byte) (target, slot) {
	switch string(key) {
	case "adapter_id":
		return targetField, slotAdapterID
	case "max_new_tokens", "num_predict":
		return targetMaxTokens, 0
	}
	return targetSkip, 0
}

// Bits of the keys of messages and parts that are no fields; those of fields follow.
const (
	bitContent uint64 = 1 << iota
	bitRole
	firstFieldBit = 2
)

func fieldBit(s slot) uint64 { return 1 << (firstFieldBit + s - tagSlots) }

// messageKey says what a key of a message or item is, and gives the bit that finds it again.
func messageKey(s Shape, key []byte) (target, slot, uint64) {
	switch string(key) {
	case "content":
		return targetContent, 0, bitContent
	case "text":
		if s == Rerank || s == Embeddings {
			return targetContent, 0, bitContent
		}
	case "role":
		return targetRole, 0, bitRole
	case "type":
		return targetType, slotType, fieldBit(slotType)
	case "call_id":
		return targetField, slotCallID, fieldBit(slotCallID)
	case "reasoning", "thinking":
		return targetField, slotReasoningContent, fieldBit(slotReasoningContent)
	case "images":
		return targetField, slotImage, fieldBit(slotImage)
	}
	switch i := fieldKey(key); i {
	case slotName, slotCallID, slotToolCalls, slotFunctionCall, slotReasoningContent, slotRefusal,
		slotArguments, slotInput, slotOutput, slotSummary, slotEncrypted, slotToolName, slotAction,
		slotTitle, slotAudio, slotImage:
		return targetField, i, fieldBit(i)
	}
	return targetSkip, 0, 0
}

// partKey says what a key of a part is, and gives the bit that finds it again.
func partKey(key []byte) (target, slot, uint64) {
	switch string(key) {
	case "text":
		return targetText, 0, bitContent
	case "type":
		return targetType, slotType, fieldBit(slotType)
	case "thinking":
		return targetField, slotReasoningContent, fieldBit(slotReasoningContent)
	case "id", "tool_use_id":
		return targetField, slotCallID, fieldBit(slotCallID)
	}
	switch i := fieldKey(key); i {
	case slotName, slotRefusal, slotInput, slotTitle, slotContextText, slotResult, slotIsError,
		slotData, slotDetail:
		return targetField, i, fieldBit(i)
	default:
		if i >= slotImage && i < slots {
			return targetField, i, fieldBit(i)
		}
	}
	return targetSkip, 0, 0
}

// fieldKey returns the field that a key of a message or part is, slots if none.
func fieldKey(key []byte) slot {
	if i, ok := fieldKeys[string(key)]; ok {
		return i
	}
	return slots
}
