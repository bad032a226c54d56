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

// welcomeTimeout is how long a daemon may take to answer: it may be starting.
const welcomeTimeout = 30 * time.Second

// Dial connects to a daemon's socket. The error says why the daemon turns this process away.
func Dial(ctx context.Context, path string, h Hello) (net.Conn, error) {
	conn, err := peersocket.Dial(ctx, path)
	if err != nil {
		return nil, err
	}
	in, err := greet(ctx, conn, h)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return dialledConn{in, conn}, nil
}

// greet says hello and waits for the welcome.
func greet(ctx context.Context, conn net.Conn, h Hello) (*bufio.Reader, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := conn.SetDeadline(time.Now().Add(welcomeTimeout)); err != nil {
		return nil, err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	_, unsaid := conn.Write(append(line, '\n')) // it may be turned away before, and the answer says why
	in := bufio.NewReaderSize(conn, maxHello)
	if line, err = in.ReadSlice('\n'); err != nil {
		return nil, errors.Join(fmt.Errorf("the daemon does not answer: %w", cmp.Or(unsaid, err)), context.Cause(ctx))
	}
	var w Welcome
	if err := json.Unmarshal(line, &w); err != nil {
		return nil, fmt.Errorf("read the daemon's answer: %w", err)
	}
	if w.Error != "" {
		return nil, errors.New(w.Error)
	}
	return in, conn.SetDeadline(time.Time{})
}

// dialledConn is a connection of which something may have been read already.
type dialledConn struct {
	in *bufio.Reader
	*net.UnixConn
}

// Read reads what was read already, and then from the connection.
func (c dialledConn) Read(p []byte) (int, error) { return c.in.Read(p) }
