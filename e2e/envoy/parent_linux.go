// SPDX-License-Identifier: Apache-2.0

package envoy

import "syscall"

// endWithParent makes the kernel end the process with the one that starts it,
// also where Envoy doesn't ask for that itself (before 1.40).
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
