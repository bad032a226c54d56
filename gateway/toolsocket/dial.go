package toolsocket

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"nanobot/internal/peersocket"
)

// welcomeTimeout is how long the daemon may take to answer, since it may be starting.
const welcomeTimeout = 30 * time.Second

// Dial connects to the daemon's socket. The error has the reason if the daemon refuses this
// process.
func Dial(ctx context.Context, path string, h Hello) (net.Conn, error) {
	conn, err := peersocket.Dial(ctx, path)
	if err != nil {
		return nil, err
	}
	in, _, err := handshake(ctx, conn, h)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return bufferedConn{in, conn}, nil
}

// errNoPosts says that the daemon does not know Hello.Post.
var errNoPosts = errors.New("the daemon is of an earlier version, which takes no messages; restart it")

// DialPost is Dial for a process that posts a message. If too many others do, it waits.
func DialPost(ctx context.Context, path string, h Hello) (*net.UnixConn, Welcome, error) {
	h.Post = true
	for deadline := time.Now().Add(welcomeTimeout); ; {
		conn, err := peersocket.Dial(ctx, path)
		if err != nil {
			return nil, Welcome{}, err
		}
		_, w, err := handshake(ctx, conn, h)
		if err == nil && !w.Post {
			err = errNoPosts
		}
		if err == nil {
			return conn, w, nil
		}
		_ = conn.Close()
		if !w.Busy || time.Now().After(deadline) {
			return nil, w, err
		}
		pauseBriefly(ctx)
	}
}

// handshake sends the hello and waits for the welcome.
func handshake(ctx context.Context, conn net.Conn, h Hello) (in *bufio.Reader, w Welcome, err error) {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := conn.SetDeadline(time.Now().Add(welcomeTimeout)); err != nil {
		return nil, w, err
	}
	unsaid := writeLine(conn, h) // the daemon may refuse the process before reading, and its answer has the reason
	in = bufio.NewReaderSize(conn, maxHello)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, w, errors.Join(fmt.Errorf("the daemon does not answer: %w", cmp.Or(unsaid, err)), context.Cause(ctx))
	}
	if err := json.Unmarshal(line, &w); err != nil {
		return nil, w, fmt.Errorf("read the daemon's answer: %w", err)
	}
	if w.Error != "" {
		return nil, w, errors.New(w.Error)
	}
	return in, w, conn.SetDeadline(time.Time{})
}

// bufferedConn is a connection whose first bytes are in a buffer.
type bufferedConn struct {
	in *bufio.Reader
	*net.UnixConn
}

// Read returns the buffered bytes first, and then reads from the connection.
func (c bufferedConn) Read(p []byte) (int, error) { return c.in.Read(p) }
