package outbox

import (
	"errors"
	"sync"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// calls are the network calls of deliveries: those in progress, and what they have left over.
type calls struct {
	mu     sync.Mutex
	cancel map[int64]func() // by delivery
	// partial are the deliveries of which a channel sends only the rest; see channels.SendError.
	partial map[int64]bool
}

// set registers the function that cancels the call of a delivery; nil unregisters it.
func (c *calls) set(delivery int64, cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel == nil {
		delete(c.cancel, delivery)
	} else {
		c.cancel[delivery] = cancel
	}
}

// abort cancels the network calls of deliveries that must not be repeated.
func (c *calls) abort(deliveries []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, delivery := range deliveries {
		if cancel := c.cancel[delivery]; cancel != nil {
			cancel()
		}
	}
}

// setPartial records whether the next try of a delivery sends only the rest of it.
func (c *calls) setPartial(id int64, state store.State, err error) {
	var se *channels.SendError
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case state == store.Pending && errors.As(err, &se) && se.Partial:
		c.partial[id] = true
	case state != store.Pending:
		delete(c.partial, id)
	}
}

// isPartial reports whether the next try of a delivery sends only the rest of it.
func (c *calls) isPartial(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partial[id]
}
