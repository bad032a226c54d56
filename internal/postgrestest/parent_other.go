//go:build !linux

package postgrestest

import "syscall"

func dieWithParent(*syscall.SysProcAttr) {}
