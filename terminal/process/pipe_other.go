//go:build !linux

package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// newPipe returns a pipe of which one end is the child's.
func newPipe(childReads bool) (ours *os.File, childEnd int, err error) {
	ours, other, err := os.Pipe()
	if err != nil {
		return nil, -1, err
	}
	if childReads {
		ours, other = other, ours
	}
	defer other.Close()
	// Fd makes it a blocking descriptor, also for its copy.
	if childEnd, err = unix.FcntlInt(other.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		ours.Close()
		return nil, -1, os.NewSyscallError("fcntl", err)
	}
	return ours, childEnd, nil
}

// filledPipe returns the read end of a pipe that contains the input and whose write end is closed.
// The input fits, so that no write blocks.
func filledPipe(input []byte) (readEnd int, err error) {
	ours, readEnd, err := newPipe(true)
	if err != nil {
		return -1, err
	}
	_, err = ours.Write(input)
	if cerr := ours.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		closeFDs(readEnd)
		return -1, err
	}
	return readEnd, nil
}
