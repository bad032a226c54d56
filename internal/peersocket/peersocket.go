// Package peersocket connects processes of one machine by a Unix socket in a folder of its own, and
// tells which process has connected. It knows nothing of what is said, nor of who may say it.
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
	// folderPrefix begins the names of the folders, which are random.
	folderPrefix = "nanobot-"
	socketName   = "socket"
	// maxPath is the longest path of a socket, less the final NUL.
	maxPath = len(syscall.RawSockaddrUnix{}.Path) - 1
)

// ErrTooLong says that a socket's path is longer than the system allows.
var ErrTooLong = errors.New("the path is too long for a socket")

// Listener accepts connections. Its methods may be called from several goroutines.
type Listener struct {
	socket *net.UnixListener
	path   string
}

// Listen makes a folder in parent and listens on a socket in it. Everybody may connect: who may
// stay is decided by Conn.Peer. Nobody but us can replace the socket, if nobody but us can rename
// what is ours in parent.
func Listen(parent string) (*Listener, error) {
	if !supported {
		return nil, fmt.Errorf("this system does not tell which process has connected to a socket: %w", errors.ErrUnsupported)
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
		return fmt.Errorf("%w: %s has %d bytes, and %d is the most", ErrTooLong, l.path, len(l.path), maxPath)
	}
	// Others may pass through the folder and not list it.
	if err := os.Chmod(filepath.Dir(l.path), 0o711); err != nil {
		return fmt.Errorf("open the folder of the socket to others: %w", err)
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: l.path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on a socket: %w", err)
	}
	if err := os.Chmod(l.path, 0o666); err != nil {
		_ = socket.Close()
		return fmt.Errorf("open the socket to others: %w", err)
	}
	l.socket = socket
	return nil
}

// Path is where the socket is.
func (l *Listener) Path() string { return l.path }

// Accept waits for a connection.
func (l *Listener) Accept() (*Conn, error) {
	c, err := l.socket.AcceptUnix()
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// Close accepts no more connections and removes the socket and its folder. Connections stay.
func (l *Listener) Close() error { return errors.Join(l.socket.Close(), Remove(l.path)) }

// Remove removes a socket of Listen and its folder, which a program has left that was killed. It
// removes nothing else, whatever the path is.
func Remove(path string) error {
	dir := filepath.Dir(path)
	if filepath.Base(path) != socketName || !strings.HasPrefix(filepath.Base(dir), folderPrefix) || !filepath.IsAbs(path) {
		return fmt.Errorf("remove socket: %s is none of ours", path)
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() || !isOurs(info) {
		return errors.Join(fmt.Errorf("remove socket: %s is no folder of ours", dir), err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the folder of the socket: %w", err)
	}
	return nil
}

// isOurs reports whether a file belongs to the user that we are.
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
	pidfd *os.File // refers to the peer's process, whatever becomes of its pid; nil: the kernel has none
	err   error    // why the peer is not known
}

// Peer is the process that has made a connection, which may have handed it to others since.
type Peer struct {
	Pid int // 0: it is outside our PID namespace
	UID int
}

// Peer returns the process that has made the connection.
func (c *Conn) Peer() (Peer, error) { return c.peer, c.err }

// PeerLives reports whether the process that has made the connection lives. If so, what was found
// out before about the process with its pid was about this one: the kernel gives a pid to another
// process only when the first one is gone.
func (c *Conn) PeerLives() bool { return c.err == nil && lives(c.pidfd) }

// Close closes the connection.
func (c *Conn) Close() error {
	if c.pidfd != nil {
		_ = c.pidfd.Close()
	}
	return c.UnixConn.Close()
}
