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
		err = raw.Control(func(fd uintptr) { c.err = c.lookUpPeer(int(fd)) })
	}
	if err != nil {
		c.err = err
	}
	return c
}

// lookUpPeer asks the kernel for the peer's credentials and a pidfd.
func (c *Conn) lookUpPeer(fd int) error {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return fmt.Errorf("read the peer's credentials: %w", err)
	}
	c.peer = Peer{Pid: int(cred.Pid), UID: int(cred.Uid)}
	if c.peer.Pid == 0 {
		return nil
	}
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 6.5; a PID that is reused at once is then not noticed
		pidfd, err = unix.PidfdOpen(c.peer.Pid, 0)
	}
	if err != nil {
		return fmt.Errorf("process %d, which has connected, is gone: %w", c.peer.Pid, err)
	}
	unix.CloseOnExec(pidfd)
	c.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
	return nil
}

// isAlive reports whether a process has not exited. Without a pidfd the process is outside our PID
// namespace; it has no PID here that could be reused.
func isAlive(pidfd *os.File) bool {
	if pidfd == nil {
		return true
	}
	raw, err := pidfd.SyscallConn() // safe against a concurrent close
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // readable once the process has exited
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
