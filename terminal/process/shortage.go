package process

import (
	"errors"
	"slices"
	"syscall"
)

// shortages are the errors by which the kernel says that it lacks something at the moment: file
// descriptors of ours (EMFILE) or of all (ENFILE), processes or room in a control group (EAGAIN),
// memory (ENOMEM); or that the program is just being written (ETXTBSY).
var shortages = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ETXTBSY}

// Shortage returns the error number of a failure that passes by itself, such as that of a start for
// want of file descriptors. It reports false for a failure that would come again.
func Shortage(err error) (syscall.Errno, bool) {
	var errno syscall.Errno
	if errors.As(err, &errno) && slices.Contains(shortages, errno) {
		return errno, true
	}
	return 0, false
}
