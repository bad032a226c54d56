package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// startRequest starts to handle a request of the agent. ctx ends with the connection.
func (c *Conn) startRequest(ctx context.Context, p message) {
	served, cancel := context.WithCancel(ctx)
	r, id := &request{cancel: cancel}, string(p.ID)
	c.mu.Lock()
	busy := c.requestCount >= maxRequests
	if !busy {
		c.requestCount++
		c.requests[id] = r
	}
	c.mu.Unlock()
	if busy {
		cancel()
		c.trySend(response(p.ID, nil, &Error{
			Code:    CodeBusy,
			Message: fmt.Sprintf("busy: %d requests are open", maxRequests),
		}))
		return
	}
	c.work.Go(func() {
		defer cancel()
		result, err := c.handler.HandleRequest(served, p.Method, p.Params)
		if c.finishRequest(id, r) && err != nil {
			err = &Error{Code: CodeCancelled, Message: "cancelled"}
		}
		_ = c.send(ctx, response(p.ID, result, err)) // an agent that has exited needs no response
	})
}

// finishRequest removes a request and reports whether the agent has cancelled it.
func (c *Conn) finishRequest(id string, r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requestCount--
	if c.requests[id] == r { // not a later request with the same ID
		delete(c.requests, id)
	}
	return r.cancelled
}

// cancelRequest handles $/cancel_request. The request still gets a response.
func (c *Conn) cancelRequest(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // without an ID it cancels none
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.requests[string(bytes.TrimSpace(p.RequestID))]; r != nil {
		r.cancelled = true
		r.cancel()
	}
}

// response returns the response to a request.
func response(id json.RawMessage, result any, failure *Error) message {
	p := message{Version: "2.0", ID: id}
	var err error
	if failure == nil {
		if p.Result, err = json.Marshal(result); err != nil {
			failure = &Error{Code: CodeInternal, Message: "the answer cannot be written: " + err.Error()}
		}
	}
	if failure != nil {
		p.Error, _ = json.Marshal(failure) // cannot fail: Data is valid JSON
	}
	return p
}

// trySend queues a response without blocking, because the reader must continue. An agent that does
// not read gets no response.
func (c *Conn) trySend(p message) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if c.send(ended, p) != nil {
		c.handler.Log("warning", "a request was not answered, because the agent does not read")
	}
}
