// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kvsteer/kvsteer/policy/load/internal/jsonwalk"
)

// line writes what tells a host, as the tables below have it.
func (h *Host) line(names []string) string {
	s := fmt.Sprintf("%s %s weight=%d", names[h.Cluster], h.Address, h.Weight)
	if h.Priority > 0 {
		s += fmt.Sprintf(" priority=%d", h.Priority)
	}
	if len(h.Hostname) > 0 {
		s += fmt.Sprintf(" hostname=%s", h.Hostname)
	}
	if len(h.Zone) > 0 {
		s += fmt.Sprintf(" zone=%s/%s/%s", h.Region, h.Zone, h.SubZone)
	}
	for i, name := range []string{"failed", "ejected", "degraded", "unhealthy", "draining", "removal", "pending", "excluded", "timeout"} {
		if h.Health&(1<<i) != 0 {
			s += " " + name
		}
	}
	return s
}

// parse reads a document in windows of the given size.
func parse(t testing.TB, names []string, document []byte, window int) (lines []string, err error) {
	p, err := New(Config{Clusters: names}, func(h *Host) { lines = append(lines, h.line(names)) })
	if err != nil {
		t.Fatal(err)
	}
	for len(document) > 0 {
		n := min(window, len(document))
		b := bytes.Clone(document[:n])
		p.Write(b)
		clear(b) // nobody may keep the window
		document = document[n:]
	}
	return lines, p.Close()
}

const istioName = "outbound|8000||engine.default.svc.cluster.local"

var recordedNames = []string{"engines", "checked", "ejected", istioName, "ambient"}

// recorded is the hosts of testdata, which are the same for both versions but for their order.
var recorded = []string{
	"engines 127.0.0.1:28001 weight=3 zone=eu/eu-a/",
	"engines 127.0.0.1:28002 weight=1 zone=eu/eu-a/ draining",
	"engines 127.0.0.4:28004 weight=1 zone=eu/eu-a/ unhealthy",
	"engines 127.0.0.5:28005 weight=1 zone=eu/eu-a/ degraded",
	"engines 127.0.0.6:28006 weight=1 zone=eu/eu-a/ unhealthy",
	"engines [::1]:28003 weight=1 priority=1 zone=eu/eu-b/rack 7",
	"engines [2001:db8::1]:8000 weight=1 priority=1 hostname=engine-7.example zone=eu/eu-b/rack 7",
	"checked 127.0.0.1:28001 weight=1",
	"checked 127.0.0.1:28009 weight=1 failed",
	"ejected 127.0.0.1:28011 weight=1 ejected",
	"ejected 127.0.0.1:28001 weight=1",
	istioName + " 127.0.0.1:28001 weight=1 hostname=localhost",
	"ambient envoy://connect_originate/10.1.2.3:8000 weight=1",
	"ambient envoy://connect_originate/ weight=1",
	"ambient /tmp/engine.sock weight=1",
}

// ofClusters returns the recorded hosts of some clusters, sorted.
func ofClusters(names []string) []string {
	var want []string
	for _, line := range recorded {
		for _, name := range names {
			if strings.HasPrefix(line, name+" ") {
				want = append(want, line)
			}
		}
	}
	slices.Sort(want)
	return want
}

func recordedPage(t testing.TB, version string) []byte {
	page, err := os.ReadFile(filepath.Join("testdata", "envoy-"+version+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestRecordedPages(t *testing.T) {
	for _, version := range []string{"1.36.2", "1.40.0"} {
		page := recordedPage(t, version)
		for _, names := range [][]string{recordedNames, {"engines"}, {"checked", "ambient"}, {"absent"}} {
			want := ofClusters(names)
			for _, window := range []int{1, 2, 13, 1000, len(page)} {
				got, err := parse(t, names, page, window)
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, %v in windows of %d: %v\n%s\nwant\n%s", version, names, window, err,
						strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	}
}

func TestRecordedCounters(t *testing.T) {
	for _, c := range []struct {
		version, address string
		want             map[Counter]uint64
	}{
		{"1.36.2", "127.0.0.1:28001", map[Counter]uint64{RequestsActive: 0, RequestsTotal: 1, RequestsSucceeded: 1,
			RequestsFailed: 0, RequestsTimedOut: 0, ConnectionsActive: 0, ConnectionsTotal: 1, ConnectionsFailed: 0}},
		{"1.40.0", "127.0.0.1:28011", map[Counter]uint64{RequestsActive: 0, RequestsPending: 0, RequestsTotal: 1,
			RequestsSucceeded: 0, RequestsFailed: 1, RequestsTimedOut: 0, ConnectionsActive: 0, ConnectionsTotal: 1, ConnectionsFailed: 0}},
	} {
		found := false
		p, err := New(Config{Clusters: []string{"engines", "ejected"}}, func(h *Host) {
			if string(h.Address) != c.address || found {
				return
			}
			found = true
			for i := range counterCount {
				got, known := h.Counter(i)
				want, wanted := c.want[i]
				if got != want || known != wanted {
					t.Errorf("%s %s: %s = %d, %v, want %d, %v", c.version, c.address, counterNames[i], got, known, want, wanted)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Write(recordedPage(t, c.version))
		if err := p.Close(); err != nil || !found {
			t.Errorf("%s: %v, host %s found: %v", c.version, err, c.address, found)
		}
	}
}

func TestEveryHealthFlag(t *testing.T) {
	for _, c := range []struct {
		member string
		want   Health
		usable bool
	}{
		{`"eds_health_status":"HEALTHY"`, 0, true},
		{`"eds_health_status":"UNKNOWN"`, 0, true},
		{`"failed_active_health_check":false`, 0, true},
		{`"failed_active_health_check":true`, FailedActive, false},
		{`"failed_outlier_check":true`, Ejected, false},
		{`"failed_active_degraded_check":true`, Degraded, true},
		{`"eds_health_status":"DEGRADED"`, Degraded, true},
		{`"eds_health_status":"UNHEALTHY"`, Unhealthy, false},
		{`"eds_health_status":"TIMEOUT"`, Unhealthy, false},
		{`"eds_health_status":"DRAINING"`, Draining, false},
		{`"pending_dynamic_removal":true`, PendingRemoval, true},
		{`"pending_active_hc":true`, PendingActive, true},
		{`"failed_active_health_check":true,"pending_active_hc":true`, FailedActive | PendingActive, false},
		{`"excluded_via_immediate_hc_fail":true`, Excluded, false},
		{`"active_hc_timeout":true`, Timeout, true},
	} {
		page := `{"cluster_statuses":[{"name":"c","host_statuses":[{"address":{"socket_address":{"address":"::1"}},"health_status":{` + c.member + `}}]}]}`
		n := 0
		p, err := New(Config{Clusters: []string{"c"}}, func(h *Host) {
			n++
			if h.Health != c.want || h.Health.Usable() != c.usable {
				t.Errorf("%s: %b, usable %v, want %b, %v", c.member, h.Health, h.Health.Usable(), c.want, c.usable)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Write([]byte(page))
		if err := p.Close(); err != nil || n != 1 {
			t.Errorf("%s: %v, %d hosts", c.member, err, n)
		}
	}
}

func TestDocuments(t *testing.T) {
	one, two := []string{"a"}, []string{"a", "b"}
	long := strings.Repeat("x", jsonwalk.MaxText+1)
	for _, c := range []struct {
		name, document string
		clusters       []string
		want           []string
		err            error
	}{
		{"endpoint with its address only", `{"endpoints":[{"address":"10.0.0.1:8000"}]}`, one, []string{"a 10.0.0.1:8000 weight=1"}, nil},
		{"all members", `{"endpoints":[{"priority":2,"weight":3,"sub_zone":"s","zone":"z","region":"r","hostname":"h","health":"draining","cluster":"b","address":"[::1]:1","labels":{"x":[1]}}]}`,
			two, []string{"b [::1]:1 weight=3 priority=2 hostname=h zone=r/z/s draining"}, nil},
		{"each health", `{"endpoints":[{"address":"a","health":"healthy"},{"address":"b","health":"degraded"},{"address":"c","health":"unhealthy"}]}`,
			one, []string{"a a weight=1", "a b weight=1 degraded", "a c weight=1 unhealthy"}, nil},
		{"member of the endpoint before is forgotten", `{"endpoints":[{"address":"a","zone":"z","weight":9},{"address":"b"}]}`,
			one, []string{"a a weight=9 zone=/z/", "a b weight=1"}, nil},
		{"endpoint of another cluster", `{"endpoints":[{"address":"a","cluster":"other"}]}`, one, nil, nil},
		{"no endpoints", `{"endpoints":[]}`, one, nil, nil},
		{"cluster left out where two are asked for", `{"endpoints":[{"address":"a"}]}`, two, nil, ErrCluster},
		{"address missing", `{"endpoints":[{"weight":1}]}`, one, nil, ErrAddress},
		{"address of another type", `{"endpoints":[{"address":17}]}`, one, nil, ErrValue},
		{"address too long", `{"endpoints":[{"address":"` + long + `"}]}`, one, nil, ErrValue},
		{"unknown health", `{"endpoints":[{"address":"a","health":"Healthy"}]}`, one, nil, ErrValue},
		{"negative weight", `{"endpoints":[{"address":"a","weight":-1}]}`, one, nil, ErrValue},
		{"priority too large", `{"endpoints":[{"address":"a","priority":128}]}`, one, nil, ErrValue},
		{"fault after a good endpoint", `{"endpoints":[{"address":"a"},{"address":""},{"address":"c"}]}`, one, []string{"a a weight=1"}, ErrAddress},
		{"Envoy without clusters", `{}`, one, nil, nil},
		{"cluster without hosts", `{"cluster_statuses":[{"name":"a"}]}`, one, nil, nil},
		{"hosts before the name", `{"cluster_statuses":[{"host_statuses":[{}],"name":"a"}]}`, one, nil, ErrOrder},
		{"cluster without a name", `{"cluster_statuses":[{"host_statuses":[{"address":{"pipe":{"path":"p"}}}]}]}`, one, nil, ErrOrder},
		{"host without an address", `{"cluster_statuses":[{"name":"a","host_statuses":[{"weight":1}]}]}`, one, nil, ErrAddress},
		{"host without a port after one with",
			`{"cluster_statuses":[{"name":"a","host_statuses":[{"address":{"socket_address":{"address":"1.2.3.4","port_value":5}}},{"address":{"socket_address":{"address":"1.2.3.4"}}}]}]}`,
			one, []string{"a 1.2.3.4:5 weight=1", "a 1.2.3.4:0 weight=1"}, nil},
		{"port too large", `{"cluster_statuses":[{"name":"a","host_statuses":[{"address":{"socket_address":{"address":"::1","port_value":65536}}}]}]}`, one, nil, ErrValue},
		{"name too long", `{"cluster_statuses":[{"name":"` + long + `","host_statuses":[{}]}]}`, one, nil, nil},
		{"nonsense in a cluster that isn't wanted", `{"cluster_statuses":[{"name":"b","host_statuses":[{"weight":-7}]}]}`, one, nil, nil},
		{"cut short", `{"cluster_statuses":[{"name":"a"`, one, nil, ErrCut},
		{"cut in a cluster that isn't wanted", `{"cluster_statuses":[{"name":"b","x":"}`, one, nil, ErrCut},
		{"nothing", "", one, nil, ErrCut},
		{"text", "no healthy upstream", one, nil, ErrSyntax},
	} {
		for _, window := range []int{1, 7, 1 << 20} {
			got, err := parse(t, c.clusters, []byte(c.document), window)
			if err != c.err || !slices.Equal(got, c.want) {
				t.Errorf("%s in windows of %d: %q, %v, want %q, %v", c.name, window, got, err, c.want, c.err)
			}
		}
	}
}

func TestActiveRequests(t *testing.T) {
	var got []string
	p, err := New(Config{Clusters: []string{"a"}}, func(h *Host) {
		n, known := h.Counter(RequestsActive)
		got = append(got, fmt.Sprint(n, known))
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Write([]byte(`{"endpoints":[{"address":"a","active_requests":12},{"address":"b"}]}`))
	if err := p.Close(); err != nil || strings.Join(got, ", ") != "12 true, 0 false" {
		t.Errorf("%q, %v, want 12 true, 0 false", got, err)
	}
}

func TestSeen(t *testing.T) {
	p, err := New(Config{Clusters: []string{"a", "b"}}, func(*Host) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		document string
		a, b     bool
	}{
		{`{"cluster_statuses":[{"name":"a"},{"name":"c"}]}`, true, false},
		{`{"cluster_statuses":[{"name":"b","host_statuses":[]}]}`, false, true},
		{`{}`, false, false},
		{`{"endpoints":[]}`, true, true},
	} {
		p.Reset()
		p.Write([]byte(c.document))
		if err := p.Close(); err != nil || p.Seen(0) != c.a || p.Seen(1) != c.b || p.Seen(2) || p.Seen(-1) {
			t.Errorf("%s: seen %v, %v (%v), want %v, %v", c.document, p.Seen(0), p.Seen(1), err, c.a, c.b)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	document := []byte(`{"endpoints":[]}`)
	for _, c := range []struct {
		most int
		want error
	}{{len(document), nil}, {len(document) - 1, ErrTooLong}} {
		p, err := New(Config{Clusters: []string{"a"}, MaxBytes: c.most}, func(*Host) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range document {
			p.Write([]byte{b})
		}
		if err := p.Close(); err != c.want {
			t.Errorf("at most %d bytes: %v, want %v", c.most, err, c.want)
		}
		p.Reset()
		p.Write([]byte(`{}`))
		if err := p.Close(); err != nil {
			t.Errorf("after Reset: %v", err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	visit := func(*Host) {}
	for _, c := range []struct {
		name  string
		names []string
		visit Visitor
		want  error
	}{
		{"no names", nil, visit, ErrNames},
		{"empty name", []string{"a", ""}, visit, ErrNames},
		{"name twice", []string{"a", "b", "a"}, visit, ErrNames},
		{"name too long", []string{strings.Repeat("x", jsonwalk.MaxText+1)}, visit, ErrNames},
		{"no visitor", []string{"a"}, nil, ErrVisitor},
	} {
		if _, err := New(Config{Clusters: c.names}, c.visit); !errors.Is(err, c.want) {
			t.Errorf("%s: New = %v, want %v", c.name, err, c.want)
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	page := recordedPage(t, "1.40.0")
	hosts := 0
	p, err := New(Config{Clusters: recordedNames}, func(*Host) { hosts++ })
	if err != nil {
		t.Fatal(err)
	}
	allocs := testing.AllocsPerRun(20, func() {
		p.Reset()
		p.Write(page[:5000])
		p.Write(page[5000:])
		p.Close()
	})
	if allocs != 0 || hosts == 0 {
		t.Errorf("%v allocations a page, %d hosts", allocs, hosts)
	}
}
