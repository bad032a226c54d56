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
	// maxLine limits the messages that are read. The largest runbook takes six times its size if a
	// client escapes every character.
	maxLine = 2 << 20
	// maxCalls limits the concurrent calls of a connection, maxCallBytes their total length.
	maxCalls, maxCallBytes = 64, 8 << 20
	// maxUnread limits the answers that the client has not read before its next call is read.
	maxUnread = 8
	// answerGrace is how long running calls may take after the end of the input. Calls that wait
	// for a person or a command are cancelled at once.
	answerGrace = 10 * time.Second
	// codeTooLarge is the JSON-RPC error of a message that is too long, codeBusy that of too many
	// calls. Both are in the range for server-defined errors.
	codeTooLarge, codeBusy = -32001, -32002
)

// lineConn is a connection whose messages are lines of JSON. The SDK's IOTransport ends at the
// first line that is not a message, and drops the answers to calls right before the end of the
// input; lineConn refuses such a line, and answers all calls first.
type lineConn struct {
	stream     io.ReadWriteCloser
	input      *bufio.Reader
	onInputEnd func() // called at the end of the input

	writeMu sync.Mutex
	mu      sync.Mutex
	calls   map[jsonrpc.ID]callState // calls without an answer so far
	changed chan struct{}            // gets a value when a call was answered

	closing  sync.Once
	closed   chan struct{}
	closeErr error
}

// callState is a call without an answer so far.
type callState struct {
	executing bool // false while its answer is being written
	size      int  // length of its line
}

var (
	_ mcp.Transport  = (*lineConn)(nil)
	_ mcp.Connection = (*lineConn)(nil)
)

func newLineConn(stream io.ReadWriteCloser, ended func()) *lineConn {
	return &lineConn{
		stream: stream, input: bufio.NewReaderSize(stream, 64<<10), onInputEnd: ended,
		calls: map[jsonrpc.ID]callState{}, changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// Connect returns the connection itself.
func (c *lineConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID returns "", since only HTTP has sessions.
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
	// a client may send the next call as soon as it has read this answer
	c.updateCalls(func() { c.calls[answer.ID] = callState{} })
	defer c.updateCalls(func() { delete(c.calls, answer.ID) })
	return c.writeLine(line)
}

// updateCalls changes the calls and notifies those who wait for a change.
func (c *lineConn) updateCalls(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *lineConn) writeLine(line []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.stream.Write(append(line, '\n'))
	return err
}

// Read returns the next message. At the end of the input it waits for the answers to all calls.
func (c *lineConn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.readMessage()
		if err != nil {
			c.awaitAnswers()
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

// awaitAnswers waits until all calls are answered.
func (c *lineConn) awaitAnswers() {
	c.onInputEnd()
	grace := time.NewTimer(answerGrace)
	defer grace.Stop()
	c.awaitCalls(grace.C, func() bool { return len(c.calls) == 0 })
}

// awaitCalls waits until a condition of the calls is met, the connection is closed or the timeout
// is over.
func (c *lineConn) awaitCalls(timeout <-chan time.Time, isMet func() bool) {
	for {
		c.mu.Lock()
		met := isMet()
		c.mu.Unlock()
		if met {
			return
		}
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-timeout:
			return
		}
	}
}

// readMessage reads a line. The message is nil if the line was blank or refused.
func (c *lineConn) readMessage() (jsonrpc.Message, error) {
	c.awaitClient()
	line, tail, err := c.readLine()
	switch {
	case err != nil:
		return nil, err
	case tail != nil:
		id := findID(line)
		if string(id) == string(noID) {
			id = findIDAtEnd(tail)
		}
		return nil, c.refuseLine(id, codeTooLarge, fmt.Sprintf("The message is longer than %d bytes. Send less.", maxLine))
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil //nolint:nilnil // there is nothing to answer
	case !json.Valid(line): // also limits the nesting depth
		return nil, c.refuseLine(findID(line), jsonrpc.CodeParseError, "The line is not JSON.")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, c.refuseLine(findID(line), jsonrpc.CodeInvalidRequest, "The line is not a JSON-RPC message: "+err.Error())
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && !c.admitCall(r, len(line)) {
		return nil, c.refuseLine(findID(line), codeBusy,
			fmt.Sprintf("%d calls, or %d bytes of them, are being executed. Wait for their answers.", maxCalls, maxCallBytes))
	}
	return m, nil
}

// admitCall registers a call, unless there are too many.
func (c *lineConn) admitCall(r *jsonrpc.Request, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	executed, bytes := 0, size
	for _, call := range c.calls {
		bytes += call.size
		if call.executing {
			executed++
		}
	}
	if executed >= maxCalls || executed > 0 && bytes > maxCallBytes {
		return false
	}
	c.calls[r.ID] = callState{executing: true, size: size}
	return true
}

// awaitClient waits while the client leaves too many answers unread, so that they do not
// accumulate.
func (c *lineConn) awaitClient() {
	c.awaitCalls(nil, func() bool {
		unread := 0
		for _, call := range c.calls {
			if !call.executing {
				unread++
			}
		}
		return unread <= maxUnread
	})
}

// readLine reads a line. Of a line that is too long it returns the beginning, and the end as tail.
// The last line may lack its newline.
func (c *lineConn) readLine() (line, tail []byte, err error) {
	for {
		part, err := c.input.ReadSlice('\n')
		if tail == nil && len(line)+len(part) <= maxLine {
			line = append(line, part...)
		} else {
			tail = append(tail, part...)
			tail = tail[max(0, len(tail)-maxTail):]
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, tail, nil
		default:
			return line, tail, err
		}
	}
}

// refuseLine answers a line that is not executed, with its ID if it has one.
func (c *lineConn) refuseLine(id json.RawMessage, code int, message string) error {
	type wireError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, wireError{code, message}})
	if err != nil {
		return err
	}
	return c.writeLine(line)
}
