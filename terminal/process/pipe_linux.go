package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// filledPipe returns the read end of a pipe that contains the input and whose write end is closed.
// The input fits, so that no write blocks.
func filledPipe(input []byte) (readEnd int, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return -1, os.NewSyscallError("pipe2", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		_, err = unix.Write(fd[1], input)
	}
	_ = unix.Close(fd[1])
	if err != nil {
		_ = unix.Close(fd[0])
		return -1, os.NewSyscallError("write", err)
	}
	return fd[0], nil
}

// newPipe returns a pipe of which one end is the child's. Only our end is non-blocking and known to
// the runtime's poller.
func newPipe(childReads bool) (ours *os.File, childEnd int, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, os.NewSyscallError("pipe2", err)
	}
	end, childEnd := fd[0], fd[1]
	if childReads {
		end, childEnd = childEnd, end
	}
	if _, err := unix.FcntlInt(uintptr(end), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		closeFDs(fd[:]...)
		return nil, -1, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(end), "pipe"), childEnd, nil
}
