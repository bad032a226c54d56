// Package peersocket listens on a Unix socket in a new folder and reports which process has
// connected. It knows neither the protocol nor who may connect.
package peersocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// folderPrefix starts the random names of the folders.
	folderPrefix = "nanobot-"
	socketName   = "socket"
	// maxPath is the longest path of a socket, without the final NUL.
	maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1
)

// ErrTooLong says that a socket's path is longer than the system allows.
var ErrTooLong = errors.New("the path is too long for a socket")

// Listener accepts connections. Its methods may be called from several goroutines.
type Listener struct {
	socket *net.UnixListener
	path   string
}

// Listen makes a folder in parent and listens on a socket in it. Every user may connect; callers
// decide by Conn.Peer. Other users cannot replace the socket as long as they cannot rename our
// entries of parent (it is our own, or sticky).
func Listen(parent string) (*Listener, error) {
	if !supported {
		return nil, fmt.Errorf("this system does not report which process has connected to a socket: %w",
			errors.ErrUnsupported)
	}
	dir, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("make a folder for the socket: %w", err)
	}
	l := &Listener{path: filepath.Join(dir, socketName)}
	if err := l.listen(); err != nil {
		_ = Remove(l.path)
		return nil, err
	}
	return l, nil
}

func (l *Listener) listen() error {
	if len(l.path) > maxPath {
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrTooLong, l.path, len(l.path), maxPath)
	}
	// Other users may pass through the folder but not list it.
	if err := os.Chmod(filepath.Dir(l.path), 0o711); err != nil {
		return fmt.Errorf("make the socket's folder accessible to other users: %w", err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on a socket: %w", err)
	}
	if err := os.Chmod(l.path, 0o666); err != nil {
		_ = socket.Close()
		return fmt.Errorf("make the socket accessible to other users: %w", err)
	}
	l.socket = socket
	return nil
}

// Path returns the path of the socket.
func (l *Listener) Path() string { return l.path }

// Accept waits for a connection.
func (l *Listener) Accept() (*Conn, error) {
	c, err := l.socket.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// Close stops listening and removes the socket and its folder. Accepted connections stay open.
func (l *Listener) Close() error { return errors.Join(l.socket.Close(), Remove(l.path)) }

// IsPath reports whether a path looks like that of a socket of Listen.
func IsPath(path string) bool {
	return filepath.Base(path) == socketName && strings.HasPrefix(filepath.Base(filepath.Dir(path)), folderPrefix) &&
		filepath.IsAbs(path)
}

// Remove removes a socket of Listen and its folder after the program that listened was killed. It
// removes nothing else, whatever the path is.
func Remove(path string) error {
	dir := filepath.Dir(path)
	if !IsPath(path) {
		return fmt.Errorf("remove socket: %s is not a socket of nanobot", path)
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() || !isOurs(info) {
		return errors.Join(fmt.Errorf("remove socket: %s is not a folder of this user", dir), err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket's folder: %w", err)
	}
	return nil
}

// isOurs reports whether a file belongs to the user of this process.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Dial connects to a socket.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to the socket: %w", err)
	}
	return c.(*net.UnixConn), nil
}

// Conn is a connection that was accepted.
type Conn struct {
	*net.UnixConn
	peer  Peer
	pidfd *os.File // the peer's process, even if its PID is reused; nil if the peer has no PID here
	err   error    // why the peer is not known
}

// Peer is the process that made a connection. It may have passed the connection to others since.
type Peer struct {
	Pid int // 0 if the process is outside our PID namespace
	UID int
}

// Peer returns the process that made the connection.
func (c *Conn) Peer() (Peer, error) { return c.peer, c.err }

// PeerAlive reports whether the process that made the connection is still running. If so,
// everything that was read about its PID before the call was about this process, since the kernel
// reuses a PID only after its process is gone.
func (c *Conn) PeerAlive() bool { return c.err == nil && isAlive(c.pidfd) }

// Close closes the connection.
func (c *Conn) Close() error {
	if c.pidfd != nil {
		_ = c.pidfd.Close()
	}
	return c.UnixConn.Close()
}
