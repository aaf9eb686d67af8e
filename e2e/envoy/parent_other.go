// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package envoy

import "syscall"

// endWithParent has nothing to ask for outside Linux.
func endWithParent() *syscall.SysProcAttr { return nil }
