package acp

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
	// maxOpen bounds how many of an agent's requests are worked on: each holds a goroutine.
	maxOpen = 256
	// maxQueued is how many lines wait for an agent that does not read. Before more come than this,
	// all of its requests would have to be refused at once.
	maxQueued = 2 * maxOpen
	// maxNoise is how much is logged of a line that is no message.
	maxNoise = 1000
)

// errGone says that the agent has ended, or cannot be talked with any more.
var errGone = errors.New("the agent has ended")

// conn is a JSON-RPC connection to an agent. Responses and notifications are taken in order, one at
// a time; each request of the agent is worked on beside them.
type conn struct {
	notified func(method string, params json.RawMessage)
	serve    func(ctx context.Context, method string, params json.RawMessage) (any, *rpcError)
	log      func(level, text string)
	skipped  func(*terminal.LongLineError)

	disconnected <-chan struct{} // closed when the connection has ended
	cancel       context.CancelFunc
	out          chan []byte
	work         sync.WaitGroup // the writer, and the agent's requests

	mu      sync.Mutex
	gone    bool
	next    int64
	pending map[int64]*call
	open    map[string]*request // by id as the agent wrote it
	opened  int
}

// call is a request of ours. Its result is set when done is closed.
type call struct {
	id     int64
	done   chan struct{}
	hook   func(result json.RawMessage, err error) // runs before anything that the agent says later is taken; may be nil
	result json.RawMessage
	err    error
}

// request is one of the agent's.
type request struct {
	cancel    context.CancelFunc
	cancelled bool // by the agent
}

// newConn returns a connection, and the context of the agent's requests, which ends with it.
func newConn() (context.Context, *conn) {
	ctx, cancel := context.WithCancel(context.Background())
	return ctx, &conn{
		disconnected: ctx.Done(), cancel: cancel,
		out: make(chan []byte, maxQueued), pending: map[int64]*call{}, open: map[string]*request{},
	}
}

// isDisconnected says whether the connection has ended.
func (c *conn) isDisconnected() bool {
	select {
	case <-c.disconnected:
		return true
	default:
		return false
	}
}

// write writes what is to be said until the connection ends or the agent takes no more, and then
// calls broken.
func (c *conn) write(w io.Writer, broken func()) {
	for {
		select {
		case <-c.disconnected:
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

// read takes what the agent says until it has ended, and fails whatever waits for an answer. ctx is
// that of newConn.
func (c *conn) read(ctx context.Context, lines *terminal.LineReader) {
	defer c.fail()
	for {
		line, err := lines.Next()
		var long *terminal.LongLineError
		switch {
		case errors.As(err, &long):
			c.skipped(long)
		case err != nil:
			return
		default:
			c.take(ctx, line)
		}
	}
}

func (c *conn) take(ctx context.Context, line []byte) {
	p, ok := parse(line)
	switch {
	case !ok:
		if text := strings.TrimSpace(string(line[:min(len(line), maxNoise)])); text != "" {
			c.log("debug", "not a message of the protocol: "+strings.ToValidUTF8(text, "�"))
		}
	case p.Method == "":
		c.answered(p)
	case p.Method == "$/cancel_request":
		c.cancelled(p.Params)
	case p.ID == nil:
		c.notified(p.Method, p.Params)
	case p.Method == "session/update": // some give it an id
		c.notified(p.Method, p.Params)
		c.offer(response(p.ID, struct{}{}, nil))
	default:
		c.asked(ctx, p)
	}
}

// answered hands a response to whoever waits for it.
func (c *conn) answered(p packet) {
	id, err := strconv.ParseInt(strings.Trim(string(p.ID), `"`), 10, 64)
	c.mu.Lock()
	k := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if err != nil || k == nil {
		c.log("debug", fmt.Sprintf("the agent answered a request that is not open: %.100s", p.ID))
		return
	}
	k.finish(p.Result, p.failure())
}

func (k *call) finish(result json.RawMessage, err error) {
	k.result, k.err = result, err
	if k.hook != nil {
		k.hook(result, err)
	}
	close(k.done)
}

// fail ends the connection: every open call is answered with errGone.
func (c *conn) fail() {
	c.cancel()
	c.mu.Lock()
	c.gone = true
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, k := range pending {
		k.finish(nil, errGone)
	}
}

// begin sends a request and returns without waiting for its answer. When ctx ends before the agent
// reads, nothing is sent.
func (c *conn) begin(ctx context.Context, method string, params any, hook func(json.RawMessage, error)) (*call, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", method, err)
	}
	k := &call{done: make(chan struct{}), hook: hook}
	c.mu.Lock()
	if c.gone {
		c.mu.Unlock()
		return nil, errGone
	}
	c.next++
	k.id = c.next
	c.pending[k.id] = k
	c.mu.Unlock()
	id := strconv.AppendInt(nil, k.id, 10)
	if err := c.send(ctx, packet{ID: id, Method: method, Params: raw}); err != nil {
		c.mu.Lock()
		delete(c.pending, k.id)
		c.mu.Unlock()
		return nil, err
	}
	return k, nil
}

// call sends a request and waits for its answer. When ctx ends, the agent is asked to drop it and
// has the time of patience to answer; hung says that it did not. An error is ctx's cause, errGone
// or the agent's *rpcError.
func (c *conn) call(ctx context.Context, patience time.Duration, method string, params any, hook func(json.RawMessage, error)) (result json.RawMessage, hung bool, err error) {
	k, err := c.begin(ctx, method, params, hook)
	if err != nil {
		return nil, false, err
	}
	select {
	case <-k.done:
		return k.result, false, k.err
	case <-ctx.Done():
	}
	late, done := context.WithTimeout(context.Background(), patience)
	defer done()
	_ = c.notify(late, "$/cancel_request", map[string]int64{"requestId": k.id})
	select {
	case <-k.done:
		return nil, false, context.Cause(ctx)
	case <-late.Done():
		return nil, true, context.Cause(ctx)
	}
}

// notify sends a notification.
func (c *conn) notify(ctx context.Context, method string, params any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	return c.send(ctx, packet{Method: method, Params: raw})
}

// send puts a line into the queue, in which all lines go out in order.
func (c *conn) send(ctx context.Context, p packet) error {
	p.Version = "2.0"
	line, err := terminal.EncodeLine(p)
	if err != nil {
		return fmt.Errorf("encode %s: %w", p.Method, err)
	}
	if c.isDisconnected() {
		return errGone
	}
	select {
	case c.out <- line: // also when ctx has ended
		return nil
	default:
	}
	select {
	case c.out <- line:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.disconnected:
		return errGone
	}
}
