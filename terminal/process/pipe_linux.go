package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// filledPipe returns the read end of a pipe that has the input already and gets no more. The input
// fits, so that no write blocks and the runtime's poller need not know of the pipe.
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

// pipe is os.Pipe with one end, the child's, left out of the runtime's poller: putting it there and
// taking it out again is a good part of what starting a child costs us.
func pipe(childReads bool) (r, w *os.File, err error) {
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
