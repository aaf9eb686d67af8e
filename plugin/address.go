// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
)

// isAddress reports whether s is ip:port or [v6]:port as Envoy writes hosts.
// Package net/netip would tell too, with 0.1 MB of module for zones and the
// table that they are kept in.
func isAddress(s string) bool {
	at := strings.LastIndexByte(s, ':')
	if at < 0 || !isNumber(s[at+1:], 1, 65535) {
		return false
	}
	host := s[:at]
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return isIPv6(host[1 : len(host)-1])
	}
	return isIPv4(host)
}

// isNumber reports whether s is a decimal without leading zeros in this range.
func isNumber(s string, low, high int) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= low && n <= high && strconv.Itoa(n) == s
}

func isIPv4(s string) bool {
	parts := 0
	for part := range strings.SplitSeq(s, ".") {
		if parts++; !isNumber(part, 0, 255) {
			return false
		}
	}
	return parts == 4
}

// isIPv6 knows the forms of RFC 4291 §2.2, without zones.
func isIPv6(s string) bool {
	head, tail, short := strings.Cut(s, "::")
	if !short {
		return groups(head, true) == 8
	}
	before, after := groups(head, false), groups(tail, true)
	return before >= 0 && after >= 0 && before+after < 8
}

// groups returns how many 16-bit groups s has, an IPv4 address at the end as two;
// -1 where it is none.
func groups(s string, last bool) (n int) {
	if s == "" {
		return 0
	}
	parts := strings.Split(s, ":")
	for i, p := range parts {
		if last && i == len(parts)-1 && isIPv4(p) {
			return n + 2
		}
		if _, err := strconv.ParseUint(p, 16, 16); err != nil || len(p) > 4 {
			return -1
		}
		n++
	}
	return n
}
