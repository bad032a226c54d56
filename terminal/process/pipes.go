package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// pipes are the standard streams of a child: three pipes or a terminal. The child's ends are plain
// descriptors, which only the child uses.
type pipes struct {
	inWrite, outRead, errRead, reportRead   *os.File
	inRead, outWrite, errWrite, reportWrite int // the child's ends; -1: none
	// the slave of a pseudo-terminal, whose master is inWrite and outRead; or nil
	terminal *os.File
}

func openPipes(o Options) (p pipes, err error) {
	p = pipes{inRead: -1, outWrite: -1, errWrite: -1, reportWrite: -1}
	if o.Terminal != nil {
		err = p.openTerminal(o)
	} else {
		err = p.openStdio(o)
	}
	if err == nil && o.Helper {
		p.reportRead, p.reportWrite, err = newPipe(false)
	}
	if err != nil {
		p.closeAll()
		return p, err
	}
	return p, nil
}

func (p *pipes) openStdio(o Options) (err error) {
	switch {
	case o.NoInput:
		if p.inRead, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			err = &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
	case o.inputFitsPipe():
		p.inRead, err = filledPipe(o.Input)
	default:
		p.inWrite, p.inRead, err = newPipe(true)
	}
	if err == nil {
		p.outRead, p.outWrite, err = newPipe(false)
	}
	if err == nil && !o.MergeStderr {
		p.errRead, p.errWrite, err = newPipe(false)
	}
	return err
}

// childFiles returns the child's descriptors 0, 1, 2 and, for a helper, ReportFD.
func (p *pipes) childFiles() []uintptr {
	files := make([]uintptr, 0, ReportFD+1)
	if p.terminal != nil {
		fd := p.terminal.Fd()
		files = append(files, fd, fd, fd)
	} else {
		files = append(files, uintptr(p.inRead), uintptr(p.outWrite), uintptr(p.outWrite))
		if p.errWrite >= 0 {
			files[2] = uintptr(p.errWrite)
		}
	}
	if p.reportWrite >= 0 {
		files = append(files, uintptr(p.reportWrite))
	}
	return files
}

// closeChildEnds closes the ends that only the child uses. With Options.DelayInput, the read end of
// its stdin stays open, to count what it leaves there.
func (p *pipes) closeChildEnds(o Options) {
	if !o.DelayInput {
		closeFDs(p.inRead)
	}
	closeFDs(p.outWrite, p.errWrite, p.reportWrite)
	closeFiles(p.terminal)
}

func (p *pipes) closeAll() {
	p.closeChildEnds(Options{})
	closeFiles(p.inWrite, p.outRead, p.errRead, p.reportRead)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func closeFDs(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// filledPipe returns the read end of a pipe that contains the input and whose write end is closed.
// The input fits, so that no write blocks.
func filledPipe(input []byte) (readEnd int, err error) {
	fd, err := pipe()
	if err != nil {
		return -1, os.NewSyscallError("pipe", err)
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
	fd, err := pipe()
	if err != nil {
		return nil, -1, os.NewSyscallError("pipe", err)
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
