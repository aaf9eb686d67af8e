// SPDX-License-Identifier: Apache-2.0

package prefix_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/policy/prefix"
)

func ExampleScanner() {
	config := prefix.Config{}
	var s prefix.Scanner
	s.Reset(&config, prefix.ShapeOf("/v1/chat/completions"))

	// The pieces of a body as they arrive; they may be cut anywhere.
	s.Write([]byte(`{"model": "m", "messages": [{"role": "user", "conte`))
	s.Write([]byte(`nt": "Hello!"}, {"content": "Hi.", "role": "assist`))
	fmt.Println("so far:", len(s.Hashes()), "block,", s.Length(), "canonical bytes")
	s.Write([]byte(`ant"}, {"role": "user", "content": "How are you?"}]}`))
	s.Close()

	fmt.Println(s.Reason(), s.Ends(), s.Tag().Complete, string(s.Model()))
	// Output:
	// so far: 1 block, 25 canonical bytes
	// none [22 41 69] true m
}
