package process

import (
	"errors"
	"slices"
	"syscall"
)

// shortages are the errors of temporary shortages: file descriptors of this process (EMFILE) or of
// the system (ENFILE), processes or room in a cgroup (EAGAIN), memory (ENOMEM), or a program file
// that is just being written (ETXTBSY).
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY}

// Shortage returns the error number of a failure that passes by itself, such as a start without
// free file descriptors. It reports false for other failures.
func Shortage(err error) (syscall.Errno, bool) {
	var errno syscall.Errno
	if errors.As(err, &errno) && slices.Contains(shortages, errno) {
		return errno, true
	}
	return 0, false
}
