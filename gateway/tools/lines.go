package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine is the length of the longest message that is read. The largest runbook takes six
	// times its size if a client escapes each of its characters.
	maxLine = 2 << 20
	// maxCalls is how many calls of a connection are executed at the same time, and maxCallBytes
	// how long they may be together.
	maxCalls, maxCallBytes = 64, 8 << 20
	// maxUnread is how many answers may wait for a client to read them before its next call is
	// read.
	maxUnread = 8
	// endGrace is how long the calls that are being executed at the end of the input may take.
	// Those that wait for a person or a command are cancelled at once.
	endGrace = 10 * time.Second
	// codeTooLarge is the JSON-RPC error of a message that is too long, and codeBusy that of a call
	// too many; both are in the range that JSON-RPC leaves to servers.
	codeTooLarge, codeBusy = -32001, -32002
)

// lineConn is a connection whose messages are lines of JSON. The SDK's IOTransport ends at the
// first line that is not a message, and drops the answers to calls that came right before the end
// of the input; lineConn refuses the line, and answers first.
type lineConn struct {
	stream io.ReadWriteCloser
	input  *bufio.Reader
	ended  func() // called at the end of the input

	writing sync.Mutex
	mu      sync.Mutex
	calls   map[jsonrpc.ID]callState // that have no answer yet
	changed chan struct{}            // gets a value when a call was answered

	closing  sync.Once
	closed   chan struct{}
	closeErr error
}

// callState is a call that has no answer yet.
type callState struct {
	executed bool // false while the answer is written
	size     int  // of its line
}

var (
	_ mcp.Transport  = (*lineConn)(nil)
	_ mcp.Connection = (*lineConn)(nil)
)

func newLineConn(stream io.ReadWriteCloser, ended func()) *lineConn {
	return &lineConn{
		stream: stream, input: bufio.NewReaderSize(stream, 64<<10), ended: ended,
		calls: map[jsonrpc.ID]callState{}, changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// Connect returns the connection itself.
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID returns "": only HTTP has sessions.
func (c *lineConn) SessionID() string { return "" }

// Close closes the stream, which ends reads and writes.
func (c *lineConn) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.closeErr = c.stream.Close()
	})
	return c.closeErr
}

// Write writes one message.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		return c.writeLine(line)
	}
	c.note(func() { c.calls[answer.ID] = callState{} }) // so that a client may send the next call as soon as it has read this
	defer c.note(func() { delete(c.calls, answer.ID) })
	return c.writeLine(line)
}

// note changes the calls.
func (c *lineConn) note(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *lineConn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.stream.Write(append(line, '\n'))
	return err
}

// Read returns the next message. At the end of the input it waits for the answers to all calls.
func (c *lineConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.next()
		if err != nil {
			c.finish()
			if c.isClosed() {
				err = io.EOF
			}
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
}

func (c *lineConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// finish waits until all calls are answered.
func (c *lineConn) finish() {
	c.ended()
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	for c.isBusy() {
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-grace.C:
			return
		}
	}
}

// isBusy reports whether a call has no answer yet.
func (c *lineConn) isBusy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls) > 0
}

// next reads a line. The message is nil if the line was refused or blank.
func (c *lineConn) next() (jsonrpc.Message, error) {
	c.awaitReader()
	line, skipped, err := c.readLine()
	switch {
	case err != nil:
		return nil, err
	case skipped != nil:
		return nil, c.refuse(skipped, codeTooLarge, fmt.Sprintf("The message is longer than %d bytes. Send less.", maxLine))
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil //nolint:nilnil // there is nothing to answer
	case !json.Valid(line): // which also limits how deeply it is nested
		return nil, c.refuse(scanID(line), jsonrpc.CodeParseError, "The line is not JSON.")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, c.refuse(scanID(line), jsonrpc.CodeInvalidRequest, "The line is not a JSON-RPC message: "+err.Error())
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && !c.admit(r, len(line)) {
		return nil, c.refuse(scanID(line), codeBusy, fmt.Sprintf("%d calls, or %d bytes of them, are being executed. Wait for their answers.", maxCalls, maxCallBytes))
	}
	return m, nil
}

// admit notes a call, unless there are too many.
func (c *lineConn) admit(r *jsonrpc.Request, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	executed, bytes := 0, size
	for _, call := range c.calls {
		bytes += call.size
		if call.executed {
			executed++
		}
	}
	if executed >= maxCalls || executed > 0 && bytes > maxCallBytes {
		return false
	}
	c.calls[r.ID] = callState{executed: true, size: size}
	return true
}

// awaitReader waits while many answers are not read by the client, so that they do not pile up.
func (c *lineConn) awaitReader() {
	unread := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, call := range c.calls {
			if !call.executed {
				n++
			}
		}
		return n
	}
	for unread() > maxUnread {
		select {
		case <-c.changed:
		case <-c.closed:
			return
		}
	}
}

// readLine reads a line. One that is too long is skipped, and what was seen of it is returned. The
// last one may lack its newline.
func (c *lineConn) readLine() (line []byte, skipped *idScanner, err error) {
	for {
		part, err := c.input.ReadSlice('\n')
		if skipped == nil && len(line)+len(part) > maxLine {
			skipped, line = scanID(line), nil
		}
		if skipped == nil {
			line = append(line, part...)
		} else {
			skipped.feed(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(line) > 0 || skipped != nil):
			return line, skipped, nil
		default:
			return line, skipped, err
		}
	}
}

// refuse answers a line that is not executed, with its id if it has one.
func (c *lineConn) refuse(s *idScanner, code int, message string) error {
	type wireError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", s.ID(), wireError{code, message}})
	if err != nil {
		return err
	}
	return c.writeLine(line)
}
