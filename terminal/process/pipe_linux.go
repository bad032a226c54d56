package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// filledPipe returns the read end of a pipe that contains the input and whose write end is closed.
// The input fits, so that no write blocks and the runtime's poller is not involved.
func filledPipe(input []byte) (r *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		_, err = unix.Write(fd[1], input)
	}
	_ = unix.Close(fd[1])
	if err != nil {
		_ = unix.Close(fd[0])
		return nil, os.NewSyscallError("write", err)
	}
	return os.NewFile(uintptr(fd[0]), "|0"), nil
}

// newPipe is os.Pipe without registering the child's end with the runtime's poller, which is a
// considerable part of the cost of starting a child.
func newPipe(childReads bool) (r, w *os.File, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	ours := fd[0]
	if childReads {
		ours = fd[1]
	}
	if err := unix.SetNonblock(ours, true); err != nil {
		_, _ = unix.Close(fd[0]), unix.Close(fd[1])
		return nil, nil, os.NewSyscallError("setnonblock", err)
	}
	return os.NewFile(uintptr(fd[0]), "|0"), os.NewFile(uintptr(fd[1]), "|1"), nil
}
