// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"time"

	"github.com/kvsteer/kvsteer/policy/load"
	"github.com/kvsteer/kvsteer/policy/table"
)

// Request is what is known of a request so far. Offsets (Ends, Head, Prev)
// count the canonical stream without the tools, as the scanner reports them;
// Length counts the tools too.
type Request struct {
	Now time.Duration

	Hashes []uint64 // block hashes so far
	Ends   []uint32 // their ends; len(Ends) == len(Hashes)

	Tag      uint64 // what else the cache depends on
	TagBytes int    // canonical bytes of the tools, which a match under this tag holds too
	TagKnown bool   // the tag is complete; else a match is an upper bound

	Length      int  // the whole prompt, or the best estimate; at least what is there so far
	LengthKnown bool // Length is exact or good enough to decide on (content-length)
	Complete    bool // the body has ended: nothing of the above will change

	Head      int    // end of the leading system messages; 0 = none
	HeadHash  uint64 // block hash there
	HeadKnown bool
	Prev      int // end of the last assistant turn so far; 0 = none

	Key      uint64 // conversation key
	KeyKnown bool

	Excluded []int // table indices of endpoints that failed for this request
}

// chain is the prompt as the table knows it.
func (r *Request) chain() table.Chain {
	return table.Chain{
		Hashes: r.Hashes, Ends: r.Ends, Tag: r.Tag, AnyTag: !r.TagKnown, Tools: uint32(r.TagBytes),
	}
}

// head is the shared head of the prompt, the tools included; 0 where there is
// none, or it isn't known.
func (r *Request) head() int {
	if !r.HeadKnown {
		return 0
	}
	return r.Head + r.TagBytes
}

// headKey names the head; heads with different tools are different. 0 = none.
func (r *Request) headKey() uint64 {
	if r.head() == 0 {
		return 0
	}
	return r.HeadHash ^ r.Tag
}

// prev is the part that an earlier turn has shown to be cached somewhere.
func (r *Request) prev() int {
	if r.Prev == 0 {
		return 0
	}
	return r.Prev + r.TagBytes
}

// excludes reports whether the endpoint failed for this request already.
func (r *Request) excludes(index int) bool {
	for _, x := range r.Excluded {
		if x == index {
			return true
		}
	}
	return false
}

// MaxChoices is how many endpoints a decision names at most: the first choice
// and two to fall back to.
const MaxChoices = 3

// Decision is the outcome of a pick. The zero value chooses nothing.
type Decision struct {
	Endpoints [MaxChoices]*load.Endpoint // best first
	N         int                        // how many of them are set
	Final     bool                       // the rest of the body can't change the first
	Match     int                        // bytes that the first is believed to hold, from placements
	Prior     int                        // bytes it may hold as the primary of the conversation; 0 = it isn't
	Uncached  int                        // bytes that the first is expected to compute
}

// First is the chosen endpoint, nil if there is none.
func (d Decision) First() *load.Endpoint { return d.Endpoints[0] }
