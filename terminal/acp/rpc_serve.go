package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"nanobot/terminal"
)

// asked begins to work on a request of the agent. ctx ends with the connection.
func (c *conn) asked(ctx context.Context, p packet) {
	c.mu.Lock()
	busy := c.opened >= maxOpen
	if !busy {
		c.opened++
	}
	c.mu.Unlock()
	if busy {
		c.offer(response(p.ID, nil, &rpcError{Code: codeBusy, Message: fmt.Sprintf("busy: %d requests are open", maxOpen)}))
		return
	}
	served, cancel := context.WithCancel(ctx)
	r, id := &request{cancel: cancel}, string(p.ID)
	c.mu.Lock()
	c.open[id] = r
	c.mu.Unlock()
	c.work.Go(func() {
		defer cancel()
		result, err := c.serve(served, p.Method, p.Params)
		if c.closed(id, r) && err != nil {
			err = &rpcError{Code: codeCancelled, Message: "cancelled"}
		}
		_ = c.send(ctx, response(p.ID, result, err)) // an agent that is gone needs no answer
	})
}

// closed forgets a request and says whether the agent has cancelled it.
func (c *conn) closed(id string, r *request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened--
	if c.open[id] == r { // and not a later one that was given the same id
		delete(c.open, id)
	}
	return r.cancelled
}

// cancelled takes the agent's word that it does not need an answer any more. It gets one all the
// same.
func (c *conn) cancelled(params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &p) // without an id it means none
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.open[string(bytes.TrimSpace(p.RequestID))]; r != nil {
		r.cancelled = true
		r.cancel()
	}
}

// response is the answer to a request.
func response(id json.RawMessage, result any, failure *rpcError) packet {
	p := packet{Version: "2.0", ID: id}
	var err error
	if failure == nil {
		if p.Result, err = json.Marshal(result); err != nil {
			failure = &rpcError{Code: codeInternal, Message: "the answer cannot be written: " + err.Error()}
		}
	}
	if failure != nil {
		p.Error, _ = json.Marshal(failure) // Data was JSON before
	}
	return p
}

// offer sends a response without ever blocking, because the reader must go on: an agent that does
// not read gets none.
func (c *conn) offer(p packet) {
	line, err := terminal.EncodeLine(p)
	if err != nil {
		return // cannot be, with parts that are JSON
	}
	select {
	case c.out <- line:
	default:
		c.log("warning", "a request was not answered, because the agent does not read")
	}
}
