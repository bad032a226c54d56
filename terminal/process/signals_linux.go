package process

import (
	"bufio"
	"bytes"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

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
