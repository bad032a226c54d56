package postgrestest

import "syscall"

// dieWithParent makes the kernel end the server when the test's process dies.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
