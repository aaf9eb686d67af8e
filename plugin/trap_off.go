// SPDX-License-Identifier: Apache-2.0

//go:build !trap

package main

// frozen is for tests of what happens when a collector dies; see trap_on.go.
func frozen(*collector) bool { return false }
