// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kvsteer/kvsteer/e2e/engine"
)

// dnsServer answers whatever name with the same IPv4 addresses, over UDP.
type dnsServer struct {
	socket net.PacketConn

	mu      sync.Mutex
	records []byte
	count   uint16
	names   []string // asked for
}

// dnsHeader is the bytes of a message before its question (RFC 1035 §4.1.1).
const dnsHeader = 12

func startDNS(t *testing.T) *dnsServer {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dnsServer{socket: socket}
	ended := make(chan struct{})
	t.Cleanup(func() {
		socket.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		d.serve()
	}()
	return d
}

// resolver is the part of an Envoy configuration that sends questions here.
func (d *dnsServer) resolver() string {
	return `typed_dns_resolver_config:
  name: envoy.network.dns_resolver.cares
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig
    resolvers: [{socket_address: {address: 127.0.0.1, port_value: ` + port(d.socket.LocalAddr().String()) + `}}]
`
}

// answer makes these engines' addresses the answer. Their time to live is an
// hour, for Envoy asks again every 5 s all the same.
func (d *dnsServer) answer(engines []*engine.Engine) {
	var records []byte
	for _, one := range engines {
		host, _, _ := strings.Cut(one.Address(), ":")
		records = append(records, 0xc0, dnsHeader)          // the name in the question
		records = binary.BigEndian.AppendUint16(records, 1) // A
		records = binary.BigEndian.AppendUint16(records, 1) // IN
		records = binary.BigEndian.AppendUint32(records, 3600)
		records = binary.BigEndian.AppendUint16(records, net.IPv4len)
		records = append(records, net.ParseIP(host).To4()...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records, d.count = records, uint16(len(engines))
}

func (d *dnsServer) serve() {
	question := make([]byte, 1500)
	for {
		n, from, err := d.socket.ReadFrom(question)
		if err != nil {
			return // closed
		}
		if reply := d.reply(question[:n]); reply != nil {
			d.socket.WriteTo(reply, from) // one that is lost is asked for again
		}
	}
}

// reply answers the first question of a message (RFC 1035 §4), nil if it is cut.
func (d *dnsServer) reply(message []byte) []byte {
	name, at := "", dnsHeader
	for at < len(message) && message[at] != 0 {
		next := at + 1 + int(message[at])
		if next > len(message) {
			return nil
		}
		name += string(message[at+1:next]) + "."
		at = next
	}
	end := at + 5 // the root label, type and class
	if end > len(message) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.names = append(d.names, name)
	reply := append([]byte(nil), message[:2]...)          // id
	reply = append(reply, 0x81, 0x80, 0, 1)               // a response, recursive; one question
	reply = binary.BigEndian.AppendUint16(reply, d.count) // answers
	reply = append(reply, 0, 0, 0, 0)
	reply = append(reply, message[dnsHeader:end]...)
	return append(reply, d.records...)
}

// askedOnly checks that this name was asked for, and no other.
func (d *dnsServer) askedOnly(t *testing.T, want string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.names)
	if got := slices.Compact(d.names); !slices.Equal(got, []string{want}) {
		t.Errorf("names asked for: %q, want only %q", got, want)
	}
}
