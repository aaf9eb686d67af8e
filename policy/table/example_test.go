// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"fmt"
	"time"

	"github.com/kvsteer/kvsteer/policy/table"
)

func Example() {
	t, err := table.New(table.Config{Endpoints: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := t.Add(1 << 20)
	second, _ := t.Add(1 << 20)

	prompt := table.Chain{Hashes: []uint64{0xa, 0xb, 0xc}, Ends: []uint32{256, 512, 700}}
	t.Learn(first, prompt, 90, 1*time.Second)
	sibling := table.Chain{Hashes: []uint64{0xa, 0xd}, Ends: []uint32{256, 512}}
	t.Learn(second, sibling, 0, 2*time.Second)

	matched := make([]uint32, 4)
	t.Match(matched, prompt, []uint64{1<<first | 1<<second})
	fmt.Println(matched[first], matched[second])
	// Output: 700 256
}
