package outbox

import "sync"

// calls are the network calls of deliveries that are in progress.
type calls struct {
	mu     sync.Mutex
	cancel map[int64]func() // by delivery
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

// Sending reports whether a network call of a delivery is in progress.
func (c *calls) Sending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cancel) > 0
}

// Abort cancels the network calls of deliveries that must not be repeated.
func (c *calls) Abort(deliveries []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, delivery := range deliveries {
		if cancel := c.cancel[delivery]; cancel != nil {
			cancel()
		}
	}
}
