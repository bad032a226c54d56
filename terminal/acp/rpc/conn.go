// Package rpc is a JSON-RPC connection to an agent, line by line, and the values that its messages
// have in common. It knows nothing of sessions, turns or people.
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"nanobot/terminal"
)

const (
	// maxRequests limits the agent's concurrent requests, each of which has a goroutine.
	maxRequests = 256
	// maxQueued limits the lines that wait for an agent that does not read. It has room for a
	// refusal of every request.
	maxQueued = 2 * maxRequests
	// maxNoise limits how much of a line that is not a message is logged.
	maxNoise = 1000
)

// ErrGone means that the agent has exited or closed the connection.
var ErrGone = errors.New("the agent has ended")

// Handler handles what an agent sends.
type Handler interface {
	HandleNotification(method string, params json.RawMessage)
	// HandleRequest is called concurrently. ctx ends when the agent cancels the request.
	HandleRequest(ctx context.Context, method string, params json.RawMessage) (any, *Error)
	HandleLongLine(err *terminal.LongLineError)
	Log(level, text string)
}

// Conn is a JSON-RPC connection to an agent. Responses and notifications are handled one at a time,
// in order; each request of the agent has its own goroutine.
type Conn struct {
	handler      Handler
	Disconnected <-chan struct{} // closed when the connection has ended
	cancel       context.CancelFunc
	out          chan []byte
	work         sync.WaitGroup // the writer and the agent's requests

	mu           sync.Mutex
	closed       bool
	lastID       int64
	pending      map[int64]*call
	requests     map[string]*request // by ID as the agent wrote it
	requestCount int
	responded    bool   // the agent has responded to a call
	printed      string // lines before that which are not messages
}

// call is a request to the agent. Its result is set when done is closed.
type call struct {
	id         int64
	done       chan struct{}
	onResponse func(result json.RawMessage, err error) // runs before any later message is handled; may be nil
	result     json.RawMessage
	err        error
}

// request is a request from the agent.
type request struct {
	cancel    context.CancelFunc
	cancelled bool // by the agent
}

// New returns a connection and the context of the agent's requests, which ends with the
// connection.
func New(h Handler) (context.Context, *Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, &Conn{
		handler: h, Disconnected: ctx.Done(), cancel: cancel,
		out: make(chan []byte, maxQueued), pending: map[int64]*call{}, requests: map[string]*request{},
	}
}

// IsGone reports whether the connection has ended.
func (c *Conn) IsGone() bool {
	select {
	case <-c.Disconnected:
		return true
	default:
		return false
	}
}

// WaitForRequests waits until the agent's requests are handled and nothing is written any more.
func (c *Conn) WaitForRequests() { c.work.Wait() }

// writeLines writes the queued lines until the connection ends. If a write fails, it calls broken.
func (c *Conn) writeLines(w io.Writer, broken func()) {
	for {
		select {
		case <-c.Disconnected:
			return
		case line := <-c.out:
			if _, err := w.Write(line); err != nil {
				c.cancel()
				broken()
				return
			}
		}
	}
}

// Serve writes the queued lines to w and handles the agent's messages until its output ends, and
// then fails all pending calls. If a write fails, it calls broken. ctx is that of New.
func (c *Conn) Serve(ctx context.Context, lines *terminal.LineReader, w io.Writer, broken func()) {
	c.work.Go(func() { c.writeLines(w, broken) })
	defer c.disconnect()
	for {
		line, err := lines.Next()
		var long *terminal.LongLineError
		switch {
		case errors.As(err, &long):
			c.handler.HandleLongLine(long)
		case err != nil:
			return
		default:
			c.handleLine(ctx, line)
		}
	}
}

func (c *Conn) handleLine(ctx context.Context, line []byte) {
	p, ok := parseMessage(line)
	switch {
	case !ok:
		c.recordNoise(line)
	case p.Method == "initialize": // only clients call it
		c.recordNoise(line)
		c.failCalls(ErrEcho)
	case p.Method == "":
		c.handleResponse(p)
	case p.Method == "$/cancel_request":
		c.cancelRequest(p.Params)
	case p.ID == nil:
		c.handler.HandleNotification(p.Method, p.Params)
	case p.Method == "session/update": // some agents send it as a request
		c.handler.HandleNotification(p.Method, p.Params)
		c.trySend(response(p.ID, struct{}{}, nil))
	default:
		c.startRequest(ctx, p)
	}
}

// handleResponse completes the call that a response belongs to.
func (c *Conn) handleResponse(p message) {
	id, err := strconv.ParseInt(strings.Trim(string(p.ID), `"`), 10, 64)
	c.mu.Lock()
	k := c.pending[id]
	c.responded = c.responded || k != nil
	delete(c.pending, id)
	c.mu.Unlock()
	if err != nil || k == nil {
		c.handler.Log("debug", fmt.Sprintf("the agent answered a request that is not open: %.100s", p.ID))
		return
	}
	k.complete(p.Result, p.responseError())
}

func (k *call) complete(result json.RawMessage, err error) {
	k.result, k.err = result, err
	if k.onResponse != nil {
		k.onResponse(result, err)
	}
	close(k.done)
}

// disconnect ends the connection. All pending calls fail with ErrGone.
func (c *Conn) disconnect() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.failCalls(ErrGone)
}

// Start sends a request and returns without waiting for the response. If ctx ends before the line
// is queued, nothing is sent.
func (c *Conn) Start(ctx context.Context, method string, params any, onResponse func(json.RawMessage, error)) error {
	_, err := c.start(ctx, method, params, onResponse)
	return err
}

func (c *Conn) start(ctx context.Context, method string, params any, onResponse func(json.RawMessage, error)) (
	*call, error,
) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	k := &call{done: make(chan struct{}), onResponse: onResponse}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrGone
	}
	c.lastID++
	k.id = c.lastID
	c.pending[k.id] = k
	c.mu.Unlock()
	id := strconv.AppendInt(nil, k.id, 10)
	if err := c.send(ctx, message{ID: id, Method: method, Params: raw}); err != nil {
		c.mu.Lock()
		delete(c.pending, k.id)
		c.mu.Unlock()
		return nil, err
	}
	return k, nil
}

// Call sends a request and waits for the response. When ctx ends, the request is cancelled and the
// agent has the time of grace to respond; hung reports that it did not. An error is ctx's cause,
// ErrGone or the agent's *Error.
func (c *Conn) Call(ctx context.Context, grace time.Duration, method string, params any,
	onResponse func(json.RawMessage, error),
) (result json.RawMessage, hung bool, err error) {
	k, err := c.start(ctx, method, params, onResponse)
	if err != nil {
		return nil, false, err
	}
	select {
	case <-k.done:
		return k.result, false, k.err
	case <-ctx.Done():
	}
	late, done := context.WithTimeout(context.Background(), grace)
	defer done()
	_ = c.Notify(late, "$/cancel_request", map[string]int64{"requestId": k.id})
	select {
	case <-k.done:
		return nil, false, context.Cause(ctx)
	case <-late.Done():
		return nil, true, context.Cause(ctx)
	}
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return c.send(ctx, message{Method: method, Params: raw})
}

// send queues a line. Lines are sent in the order of the queue.
func (c *Conn) send(ctx context.Context, p message) error {
	p.Version = "2.0"
	line, err := terminal.EncodeLine(p)
	if err != nil {
		return fmt.Errorf("encode %s: %w", p.Method, err)
	}
	if c.IsGone() {
		return ErrGone
	}
	select {
	case c.out <- line: // even if ctx has ended
		return nil
	default:
	}
	select {
	case c.out <- line:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.Disconnected:
		return ErrGone
	}
}
