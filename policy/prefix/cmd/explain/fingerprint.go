// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/kvsteer/kvsteer/policy/prefix"
)

// fingerprint is all that a scanner says of a body.
type fingerprint struct {
	shape  prefix.Shape
	reason prefix.Reason
	raw    int
	length int
	hashes []uint64
	ends   []uint32
	tag    prefix.Tag
	marks  prefix.Marks
	model  string
	stream []piece
}

// scan fingerprints a body.
func scan(config prefix.Config, shape prefix.Shape, body []byte) *fingerprint {
	var s prefix.Scanner
	var stream []byte
	s.Reset(&config, shape)
	s.Tap(&stream)
	s.Write(body)
	s.Close()
	return &fingerprint{
		shape:  shape,
		reason: s.Reason(),
		raw:    s.Raw(),
		length: s.Length(),
		hashes: s.Hashes(),
		ends:   s.Ends(),
		tag:    s.Tag(),
		marks:  s.Marks(),
		model:  string(s.Model()),
		stream: promptOrder(shape, pieces(stream)),
	}
}

// piece is a run of text in the canonical stream, or one frame of it.
type piece struct {
	text  []byte
	frame string
}

var roleNames = func() map[uint64]string {
	names := map[uint64]string{0: "no role"}
	for _, name := range []string{"system", "developer", "user", "assistant", "tool", "function", "ipython", "observation"} {
		names[xxhash.Sum64String(name)] = name
	}
	return names
}()

// pieces takes a canonical stream apart, as the package documentation of prefix has it.
func pieces(stream []byte) (all []piece) {
	for len(stream) > 0 {
		n := bytes.IndexByte(stream, 0xff)
		if n < 0 {
			n = len(stream)
		}
		if n > 0 {
			all = append(all, piece{text: stream[:n]})
			stream = stream[n:]
			continue
		}
		frame, size := frameText(stream)
		all = append(all, piece{frame: frame})
		stream = stream[size:]
	}
	return all
}

// promptOrder brings a system prompt that the body has behind its messages in front, where the blocks
// have it too. It is the last message then, and all that stands behind the end of the one before.
func promptOrder(shape prefix.Shape, all []piece) []piece {
	switch shape {
	case prefix.Messages, prefix.Responses, prefix.OllamaGenerate, prefix.Rerank:
	default:
		return all
	}
	if len(all) == 0 || all[len(all)-1].frame != systemEnd {
		return all
	}
	for i := len(all) - 2; i >= 0; i-- {
		if strings.HasPrefix(all[i].frame, messageEnd) || all[i].frame == listEnd {
			return append(append([]piece{}, all[i+1:]...), all[:i+1]...)
		}
	}
	return all
}

// Frames in words.
const (
	messageEnd = "end of message, "
	systemEnd  = messageEnd + "system"
	listEnd    = "end of list"
)

// frameText returns a frame in words, and its length.
func frameText(p []byte) (string, int) {
	switch p[1] {
	case 'M':
		role, fields := binary.LittleEndian.Uint64(p[2:]), binary.LittleEndian.Uint64(p[10:])
		name, ok := roleNames[role]
		if !ok {
			name = fmt.Sprintf("role %016x", role)
		}
		if fields == 0 {
			return messageEnd + name, 18
		}
		return fmt.Sprintf("%s%s, fields %016x", messageEnd, name, fields), 18
	case 'P':
		return "next part", 2
	case 'F':
		return fmt.Sprintf("fields of the part %016x", binary.LittleEndian.Uint64(p[2:])), 10
	case 'T':
		return "token ids", 2
	default:
		return listEnd, 2
	}
}

// shown is how much of a long text is printed at either end.
const shown = 160

func (p piece) print(w io.Writer, full bool) {
	if p.frame != "" {
		fmt.Fprintf(w, "    -- %s\n", p.frame)
		return
	}
	if full || len(p.text) <= 2*shown {
		fmt.Fprintf(w, "    %q\n", p.text)
		return
	}
	fmt.Fprintf(w, "    %q\n    … %d bytes …\n    %q\n", p.text[:shown], len(p.text)-2*shown, p.text[len(p.text)-shown:])
}

func (f *fingerprint) print(w io.Writer, full bool) {
	fmt.Fprintf(w, "  shape %v, reason %v, %d raw bytes, %d canonical bytes\n", f.shape, f.reason, f.raw, f.length)
	fmt.Fprintf(w, "  model %q, tag %016x, tag bytes %d, fields %s, complete %v\n", f.model, f.tag.Hash, f.tag.Bytes, fieldNames(f.tag.Seen), f.tag.Complete)
	fmt.Fprintf(w, "  head %d %016x, conversation key %016x, last assistant turn ends at %d\n", f.marks.Head, f.marks.HeadHash, f.marks.Key, f.marks.Prev)
	fmt.Fprintln(w, "  canonical stream")
	for _, p := range f.stream {
		p.print(w, full)
	}
	fmt.Fprintln(w, "  blocks, in the order of the prompt (end, hash)")
	for i, h := range f.hashes {
		if !full && len(f.hashes) > 24 && i >= 12 && i < len(f.hashes)-12 {
			if i == 12 {
				fmt.Fprintf(w, "        … %d blocks …\n", len(f.hashes)-24)
			}
			continue
		}
		fmt.Fprintf(w, "    %7d %016x\n", f.ends[i], h)
	}
}

func fieldNames(fields prefix.Fields) string {
	var names []string
	for _, f := range []struct {
		bit  prefix.Fields
		name string
	}{
		{prefix.FieldModel, "model"}, {prefix.FieldSalt, "salt"}, {prefix.FieldTools, "tools"}, {prefix.FieldTemplate, "template"},
	} {
		if fields&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, "+")
}

// compare says how far two bodies share their prompt.
func compare(w io.Writer, a, b *fingerprint) {
	fmt.Fprintln(w, "comparison")
	n := 0
	for n < len(a.hashes) && n < len(b.hashes) && a.hashes[n] == b.hashes[n] {
		n++
	}
	end := 0
	if n > 0 {
		end = int(a.ends[n-1])
	}
	fmt.Fprintf(w, "  %d leading blocks are equal: %d canonical bytes of %d and %d\n", n, end, a.length, b.length)
	fmt.Fprintf(w, "  tags %s, heads %s, conversation keys %s\n",
		equal(a.tag.Hash == b.tag.Hash), equal(a.marks.HeadHash == b.marks.HeadHash), equal(a.marks.Key == b.marks.Key))
	if a.tag.Hash == b.tag.Hash {
		fmt.Fprintf(w, "  with tools and documents: %d bytes shared\n", end+a.tag.Bytes)
	}
	part(w, a.stream, b.stream)
}

func equal(same bool) string {
	if same {
		return "equal"
	}
	return "differ"
}

// part prints the first difference of two canonical streams with what stands before it.
func part(w io.Writer, a, b []piece) {
	for i := 0; i < len(a) || i < len(b); i++ {
		if i < len(a) && i < len(b) && a[i].frame == b[i].frame && bytes.Equal(a[i].text, b[i].text) {
			continue
		}
		fmt.Fprintf(w, "  the streams part in piece %d\n", i+1)
		at := 0
		if i < len(a) && i < len(b) {
			for at < len(a[i].text) && at < len(b[i].text) && a[i].text[at] == b[i].text[at] {
				at++
			}
		}
		printFrom(w, "first ", a, i, at)
		printFrom(w, "second", b, i, at)
		return
	}
	fmt.Fprintln(w, "  the streams are equal")
}

// printFrom prints a piece around the place where it differs.
func printFrom(w io.Writer, name string, all []piece, i, at int) {
	switch {
	case i >= len(all):
		fmt.Fprintf(w, "    %s has ended\n", name)
	case all[i].frame != "":
		fmt.Fprintf(w, "    %s -- %s\n", name, all[i].frame)
	default:
		text := all[i].text
		fmt.Fprintf(w, "    %s at byte %d of the text: %q | %q\n", name, at, text[max(0, at-40):at], text[at:min(len(text), at+40)])
	}
}
