package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// unreadBytes returns how many bytes wait in the pipe whose write end f is. Linux keeps and counts
// them even when the reader is gone. TIOCINQ is its other name for FIONREAD.
func unreadBytes(f *os.File) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ); err != nil {
			n = 0
		}
	})
	return n
}
