// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"strings"
	"testing"
)

var addresses = []string{
	"10.0.0.1:80", "255.255.255.255:65535", "[::]:1", "[::1]:8000", "[2001:db8::5]:8000", "[1:2:3:4:5:6:7:8]:1", "[1:2:3:4:5:6:7::]:1",
	"[::ffff:10.0.0.1]:80", "[1:2:3:4:5:6:1.2.3.4]:80", "[::2:3:4:5:6:7:8]:9",
	"", ":80", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:080", "10.0.0:80", "10.0.0.256:80", "10.0.0.01:80", "10.0.0.1.2:80",
	"2001:db8::5:8000", "[2001:db8::5]", "[2001:db8::5]80", "[1:2:3:4:5:6:7:8::]:1", "[1::2::3]:1", "[12345::]:1", "[g::]:1", "[::1%eth0]:80", "[:::]:1",
	"[1:2:3:4:5:6:7]:80", "[1.2.3.4]:80", "[1.2.3.4::]:80", "host:80", "[]:80", "+1.2.3.4:80", "[1:2:3:4:5:6:7:1.2.3.4]:80", "[+1::]:1",
}

// sameAsNetip: what netip takes and has no zone, no leading zeros in the port and
// a port above 0 is an address, and nothing else.
func sameAsNetip(t *testing.T, s string) {
	a, err := netip.ParseAddrPort(s)
	want := err == nil && a.Port() > 0 && a.Addr().Zone() == "" && !strings.Contains(s, ":0")
	if err == nil && strings.Contains(s, ":0") {
		want = isAddress(s) && a.Port() > 0 // groups may begin with 0, ports may not
	}
	if got := isAddress(s); got != want {
		t.Errorf("isAddress(%q) = %v, netip: %v %v", s, got, a, err)
	}
}

func TestAddress(t *testing.T) {
	for _, s := range addresses {
		sameAsNetip(t, s)
	}
	for _, s := range addresses[:10] {
		if !isAddress(s) {
			t.Errorf("%q is no address", s)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range addresses {
		f.Add(s)
	}
	f.Fuzz(sameAsNetip)
}
