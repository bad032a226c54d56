package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Size is the size of a terminal in characters.
type Size struct{ Rows, Columns uint16 }

// stopSignals returns the signals that Stop sends. A child on a terminal gets the signals of a
// terminal that is closed, because interactive shells ignore SIGTERM; SIGCONT wakes suspended jobs,
// which would not notice the hangup.
func (o Options) stopSignals() []unix.Signal {
	if o.Terminal != nil {
		return []unix.Signal{unix.SIGHUP, unix.SIGCONT}
	}
	return []unix.Signal{unix.SIGTERM}
}

// openTerminal opens a pseudo-terminal. The master gets two descriptors, so that the writing side
// can be closed under a blocked Write while output is still read.
func (p *pipes) openTerminal(o Options) error {
	master, slave, err := pty.Open()
	if errors.Is(err, unix.ENOSPC) { // all pseudo-terminals are in use, for the moment
		err = syscall.EAGAIN
	}
	if err != nil {
		return fmt.Errorf("open pseudo-terminal: %w", err)
	}
	defer master.Close()
	p.terminal = slave
	if err := prepareTerminal(slave, o); err != nil {
		return fmt.Errorf("prepare pseudo-terminal: %w", err)
	}
	fd := master.Fd()
	if p.inWrite, err = nonblockingCopy(fd, master.Name()); err == nil {
		p.outRead, err = nonblockingCopy(fd, master.Name())
	}
	return err
}

// prepareTerminal sets the size and the line discipline before any program reads them. The child's
// user becomes the owner, because otherwise it could not open /dev/stdout.
func prepareTerminal(slave *os.File, o Options) error {
	if o.User != nil {
		if err := slave.Chown(int(o.User.Uid), -1); err != nil {
			return err
		}
	}
	fd := int(slave.Fd())
	if err := setSize(fd, *o.Terminal); err != nil {
		return err
	}
	return setUTF8(fd)
}

// nonblockingCopy duplicates a descriptor for the runtime's poller: pty.Open leaves the master in
// blocking mode, in which reads have no deadline.
func nonblockingCopy(of uintptr, name string) (*os.File, error) {
	fd, err := unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("setnonblock", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func setSize(fd int, s Size) error {
	return os.NewSyscallError("ioctl TIOCSWINSZ",
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: s.Rows, Col: s.Columns}))
}

// Interrupt sends SIGINT to the foreground job of the child's terminal, as Ctrl-C does, even if the
// job does not read its input. It may be called from any goroutine. After Wait it returns
// os.ErrClosed.
func (c *Child) Interrupt() error {
	return c.controlTerminal("interrupt", func(fd int) error {
		return os.NewSyscallError("ioctl TIOCSIG", unix.IoctlSetInt(fd, unix.TIOCSIG, int(unix.SIGINT)))
	})
}

// DiscardInput discards input that was written to the child's terminal and not read yet, where the
// system supports that. It may be called from any goroutine. After Wait it returns os.ErrClosed.
func (c *Child) DiscardInput() error { return c.controlTerminal("drop input", flushInput) }

// ForegroundJob returns the foreground process group of the child's terminal. The child's own group
// has the ID Pid.
func (c *Child) ForegroundJob() (group int, err error) {
	err = c.controlTerminal("find foreground job", func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return os.NewSyscallError("ioctl TIOCGPGRP", err)
	})
	return group, err
}

// HidesInput reports whether the program on the child's terminal reads a line without echo, such as
// a password.
func (c *Child) HidesInput() (hides bool) {
	_ = c.controlTerminal("read terminal modes", func(fd int) (err error) {
		hides, err = echoIsOff(fd)
		return err
	})
	return hides
}

// Resize changes the size of the child's terminal; the kernel sends SIGWINCH to the foreground job.
// It may be called from any goroutine. After Wait it returns os.ErrClosed.
func (c *Child) Resize(s Size) error {
	return c.controlTerminal("resize", func(fd int) error { return setSize(fd, s) })
}

// controlTerminal calls do with the descriptor of the terminal.
func (c *Child) controlTerminal(what string, do func(fd int) error) error {
	if !c.onTerminal {
		return fmt.Errorf("%s: the process has no terminal", what)
	}
	raw, err := c.out.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if cerr := raw.Control(func(fd uintptr) { err = do(int(fd)) }); cerr != nil {
		err = os.ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
