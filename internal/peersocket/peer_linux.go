package peersocket

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const supported = true

func newConn(u *net.UnixConn) *Conn {
	c := &Conn{UnixConn: u}
	raw, err := u.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { c.err = c.lookUp(int(fd)) })
	}
	if err != nil {
		c.err = err
	}
	return c
}

// lookUp asks the kernel for the peer.
func (c *Conn) lookUp(fd int) error {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("ask who has connected: %w", err)
	}
	c.peer = Peer{Pid: int(cred.Pid), UID: int(cred.Uid)}
	if c.peer.Pid == 0 {
		return nil
	}
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 6.5; then a pid that is used again at once is not noticed
		pidfd, err = unix.PidfdOpen(c.peer.Pid, 0)
	}
	if err != nil {
		return fmt.Errorf("process %d, which has connected, is gone: %w", c.peer.Pid, err)
	}
	unix.CloseOnExec(pidfd)
	c.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	return nil
}

// lives reports whether a process has not exited. A process outside our PID namespace has no pid
// here that another one could get.
func lives(pidfd *os.File) bool {
	if pidfd == nil {
		return true
	}
	raw, err := pidfd.SyscallConn() // which another goroutine may close meanwhile
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // which it is once it has exited
		for {
			n, err := unix.Poll(poll, 0)
			if !errors.Is(err, unix.EINTR) {
				alive = err == nil && n == 0
				return
			}
		}
	})
	return err == nil && alive
}
