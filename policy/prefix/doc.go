// SPDX-License-Identifier: Apache-2.0

// Package prefix fingerprints the prompt of an LLM request while its JSON body streams in.
//
//	body bytes ──> lexer ──> value ──> canonical stream ──> chain of blocks ──> Hashes, Ends, Marks
//	 (any cut)     RFC 8259   meaning    of the messages        xxhash64
//	                             └──────> fields ───────────> sums ───────────> Tag
//
// Two bodies share their leading hashes as far as an engine's chat template would give them the same
// leading text, and they have the same tag if whatever else an engine's KV cache depends on is the
// same: model, adapter, salt, tools, template arguments. Key order, white space, escapes and
// parameters that no template shows change neither. Nothing is tokenized, and no body is kept.
//
// One pass, no recursion, no allocation; a Scanner is 8 KiB, whatever the body. Cost is linear in the
// bytes given to Write.
//
// # Terms
//
// The prompt is what an engine's chat template turns into tokens; the canonical stream is its bytes in
// the form below; a block is a piece of the stream between two boundaries, and its hash covers all
// before it too; the tag is what else the cache depends on; the conversation key is the hash at the
// end of the first user message. A field is a value that is hashed as one, whatever is in it; a chain
// is a run of blocks that begins with a seed.
//
// # Canonical stream, version 1
//
// The prompt is a sequence of messages. The stream has for each message its content, then its end:
//
//	content               the text in UTF-8, escapes resolved; parts in order
//	FF 'M' role fields    role = xxhash64 of its name, 0 if there is none; fields = sum of the fields
//
// Numbers are eight bytes, little endian. 0xFF is in no UTF-8 text, so content cannot forge framing.
// The end stands behind the content, so that the order of the keys of a message does not matter; what
// the template puts in front of the content is brought in by mixing the role into the published
// hashes (below). A content of parts has
//
//	FF 'P'                between two parts
//	text                  of a part that has text, whatever its type
//	FF 'F' fields         at the end of a part that has fields: images, audio, files, thinking, tool
//	                      calls and results, and the type unless it is text, input_text, output_text
//
// so that a string, and a list of one text part with that string, are the same. A prompt without
// messages is one message without a role; so is each string of a list, and each run of token ids:
//
//	FF 'T'                before a run of token ids; then each id as it is written, and a comma
//	FF 'L'                at the end of a list inside the prompt (batches)
//
// A batch is one stream: requests share it as far as their leading prompts are the same. A Responses
// input that is a string is a message with role user. Lone surrogates are U+FFFD, as in
// encoding/json; engines refuse or replace them.
//
// keys.go has the keys that are read for each API. All others are skipped. The text of the first
// system block of Messages is left out if it begins with "x-anthropic-billing-header:".
//
// # Two chains
//
// Where an API keeps the system prompt outside the messages (system of Messages and OllamaGenerate,
// instructions of Responses; also query and text_1 of Rerank), it is a chain of its own, with one
// message whose role is system. Its blocks come first in Hashes, and its length is added to all
// offsets of the messages. The hashes of the messages do not depend on it: Anthropic's own client
// sends it behind the messages, and what is decided before it has come must find the placements that
// are learnt after. The price: an engine that holds the system prompt from one conversation, and the
// same messages from one under another system prompt, is believed to hold both together; its
// cached_tokens correct that. At most 128 KiB of it are hashed. System messages inside the messages
// are part of their chain.
//
// # Blocks
//
// Offsets count canonical bytes: content as it is, 'P' as 1, the other framing as nothing, except
// that the end of a message counts 16 if it has a role and the size of its fields, and 'F' the size
// of the fields. Sizes of fields are below. A block ends
//
//   - where an offset reaches or passes the next point of the grid: every 256 bytes up to 4 KiB,
//     every 1 KiB up to 64 KiB, every 4 KiB beyond;
//   - at the end of a message, if fewer than 16 blocks have ended so, or if fewer than 16 and one for
//     every 4 grid points up to here have, and the block has at least an eighth of the grid's step;
//   - at the end of a system prompt outside the messages.
//
// Up to 1 MiB that is 411 blocks at most, and 93 of a system prompt. Behind MaxBytes nothing is
// recorded; Length goes on.
//
//	link(0)  = xxhash64("kvsteer/prefix/1/prompt" or ".../system", seed = Config.Seed)
//	link(i)  = xxhash64(stream bytes of block i, seed = link(i-1))
//	hash(i)  = mix(link(i), role of the message in which block i ends)
//
//	mix(a, b): h = (rotl(a + P1, 31) * P4) xor (b + P5)
//	           h = (h xor h>>33) * P2; h = (h xor h>>29) * P3; h xor h>>32     P1…P5 of xxhash64
//
// A role that comes behind the content holds back the hashes of the blocks in between: they are
// published when it comes, at the latest at the end of the message.
//
// # Fields
//
// The hash of a field is the sum of the hashes of its leaves, modulo 2^64. With P the path hash and
// K the kind (1 string, 2 number, 3 true/false/null, 4 object, 5 array; P3 as above):
//
//	leaf     = mix(P + K*P3, xxhash64 of the decoded string or of the number as written;
//	           0, 1, 2 for true, false, null; 0 for an object or array inside the field)
//	P        = xxhash64(label) for the field's own value
//	           mix(P of the array, index from 1) for an element
//	           mix(P of the object, xxhash64(key)) for a member
//	           mix(that, number of the key from 1) where the order of keys counts
//
// The order of keys counts inside parameters, input_schema, input and arguments, since templates
// print these as they are; elsewhere it does not, and there cache_control is skipped. A null field
// is no field. The size of a field is 2 for each leaf and key, and the bytes of its keys, strings,
// numbers and literals; 1,024 for images, audio and files, whatever their URL or data; 2 for a type.
//
// The tag is the sum of the fields of the body. Its Bytes are the sizes of tools, functions and
// documents. Left out are tool_choice, response_format and all that guides decoding or sampling:
// templates do not show them.
//
// # Marks
//
// Head: the end of the leading messages with role system or developer, a system prompt outside
// included; its hash is that of a block that would end there (of both chains: mix of the two), 0 if
// there is no such message. Key: that hash at the end of the first message with role user; without
// one, of the leading system messages inside the messages; without those, of the first message; for
// a prompt without roles at 4 KiB or its end. The system prompt outside is not in the key, for the
// reason given above. Prev: the end of the last assistant turn, where model-made items of Responses
// (types that end in _call, reasoning) count.
//
// # Errors
//
// A body is either fingerprinted or has a Reason; nothing else fails. JSON is checked to the end, in
// skipped values too. NaN, comments, trailing commas, raw control bytes and invalid UTF-8 are faults
// although some engines take them. One UTF-8 byte order mark in front is skipped. Keys are compared
// decoded, and case counts.
//
// Of a key that comes twice, engines take the last. So does the tag, and stream and max_tokens. What
// has gone into the stream cannot be taken back: a second prompt, system prompt, or key of one
// message or part is ReasonDuplicate. Inside a field both count: at worst a match is missed.
//
// # Limits
//
// See MaxHashed and its neighbours. xxhash64 is no cryptographic hash: who can choose prompts can
// make two of them collide, and gains a request that is routed to a cold engine.
package prefix
