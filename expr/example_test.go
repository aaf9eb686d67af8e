// SPDX-License-Identifier: Apache-2.0

package expr_test

import (
	"fmt"

	"github.com/kvsteer/kvsteer/expr"
)

// A program declares its algorithms, reads the operator's document and lets
// requests overlay it.
func Example() {
	catalog, err := expr.NewCatalog("hash", []expr.Algorithm{{
		Name: "hash",
		Parameters: []expr.Parameter{
			{Name: "seed", Type: expr.String, Default: expr.StringValue(""), Static: expr.Range{Max: 1024}},
			{Name: "fallbacks", Type: expr.Uint, Default: expr.UintValue(2), Request: expr.Range{Max: 2}, Static: expr.Range{Max: 2}},
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := catalog.ParseConfig(`{"default": {"algorithm": "hash", "seed": "v1"}}`, "/routing")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, value := range []string{`HASH; fallbacks="01"`, "hash;fallbacks=3"} {
		got, rejection := config.Resolve("some-model", value)
		if rejection != nil {
			fmt.Println(rejection.Code.Status(), string(rejection.AppendBody(nil)))
			continue
		}
		fmt.Println(got.Canonical, string(got.Settings.AppendJSON(nil)))
	}
	// Output:
	// hash;fallbacks=1 {"fallbacks":1,"seed":"v1"}
	// 400 {"error":"fallbacks must be 0 to 2","code":"invalid_value","reason":"out_of_range","parameter":"fallbacks"}
}
