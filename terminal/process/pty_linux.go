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

// flushInput discards unread input of a terminal, which only works through the slave side.
func flushInput(master int) error {
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return os.NewSyscallError("ioctl TIOCGPTPEER", errno)
	}
	err := unix.IoctlSetInt(int(slave), unix.TCFLSH, unix.TCIFLUSH)
	_ = unix.Close(int(slave)) // nothing was written to it
	return os.NewSyscallError("ioctl TCFLSH", err)
}

// echoIsOff reports whether the terminal is in canonical mode without echo.
func echoIsOff(fd int) (bool, error) {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return false, os.NewSyscallError("ioctl TCGETS", err)
	}
	return t.Lflag&unix.ICANON != 0 && t.Lflag&unix.ECHO == 0, nil
}
