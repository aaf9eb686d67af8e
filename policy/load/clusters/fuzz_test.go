// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"slices"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"cluster_statuses":[{"name":"a","host_statuses":[{"address":{"socket_address":{"address":"::1","port_value":1}},"stats":[{"name":"rq_total","value":"3"}]}]}]}`), 3)
	f.Add([]byte(`{"endpoints":[{"address":"a","cluster":"b","health":"draining"}]}`), 1)
	f.Add([]byte(`{"cluster_statuses":[{"name":"c","x":[{"\"}":"]"}]},{"name":"b","host_statuses":[{"address":{"pipe":{"path":"p"}}}]}]}`), 5)
	names := []string{"a", "b"}
	f.Fuzz(func(t *testing.T, document []byte, window int) {
		want, wantErr := parse(t, names, document, len(document)+1)
		got, gotErr := parse(t, names, document, 1+int(uint(window)%100))
		if gotErr != wantErr || !slices.Equal(got, want) {
			t.Fatalf("split changes the result: %q, %v, whole %q, %v", got, gotErr, want, wantErr)
		}
	})
}
