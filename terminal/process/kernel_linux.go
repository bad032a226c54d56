package process

import (
	"bufio"
	"bytes"
	"errors"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes gives the child its own session and process group, so that all its processes can
// be killed, and none waits for our terminal. Its controlling terminal, if it gets one, is its
// stdin. Pdeathsig makes the kernel kill the child when this program dies. It is tied to the thread
// that forked; Go ends a thread only when a goroutine exits while locked to it, which no goroutine
// here does.
func childAttributes(o Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setsid: true, Setctty: o.Terminal != nil, Ctty: 0,
		Pdeathsig: syscall.SIGKILL, Credential: o.User, Cloneflags: o.Namespaces, AmbientCaps: o.Ambient,
	}
}

// hasExited reports whether a child that is not reaped has exited.
func hasExited(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && info.Signo != 0
		}
	}
}

// awaitExit returns when the child has exited, without reaping it, so that its PID is not reused.
func awaitExit(l *leader) {
	for {
		err := unix.Waitid(unix.P_PID, l.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

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
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
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

// ignoredSignals returns the signals that this program ignores.
func ignoredSignals() (all []os.Signal) {
	status, _ := os.ReadFile("/proc/self/status") // without /proc no signal counts as ignored
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		value, found := bytes.CutPrefix(lines.Bytes(), []byte("SigIgn:"))
		if !found {
			continue
		}
		mask, _ := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		for ; mask != 0; mask &= mask - 1 {
			all = append(all, syscall.Signal(bits.TrailingZeros64(mask)+1))
		}
	}
	return all
}

// withEmptyMask calls start on a thread that blocks no signals. The child inherits the thread's
// mask, and the mask that this program was started with is otherwise that of all its threads.
func withEmptyMask(start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var empty, inherited unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &empty, &inherited); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &inherited, nil) }() // cannot fail with these arguments
	return start()
}

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

// maxrssUnit is the unit of rusage.ru_maxrss in bytes.
const maxrssUnit = 1 << 10

// pipe returns the read end and the write end of a pipe, which other children do not inherit.
func pipe() (fd [2]int, err error) {
	err = unix.Pipe2(fd[:], unix.O_CLOEXEC)
	return fd, err
}

// setSubreaper sets or clears the subreaper attribute of this process and reports whether it could.
func setSubreaper(on bool) bool {
	value := uintptr(0)
	if on {
		value = 1
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, value, 0, 0, 0) == nil
}

// setCgroup makes the process start in a cgroup, whose folder is open.
func (l *leader) setCgroup(dirFD int) { l.attributes.UseCgroupFD, l.attributes.CgroupFD = true, dirFD }
