package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// setUTF8 makes the line discipline erase whole characters rather than bytes, as terminal emulators
// do.
func setUTF8(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return os.NewSyscallError("ioctl TCGETS", err)
	}
	t.Iflag |= unix.IUTF8
	return os.NewSyscallError("ioctl TCSETS", unix.IoctlSetTermios(fd, unix.TCSETS, t))
}
