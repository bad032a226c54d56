package telegram

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
	"time"
)

// health is what stands in the way of receiving, at one step of it.
type health struct {
	mu    sync.Mutex
	err   error
	since time.Time
}

// outage is how long a step may fail before it is worth a word: most of it is over in seconds.
const outage = time.Minute

// set notes how the last try went.
func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.since = time.Now()
	}
	h.err = err
}

// Health says why nothing can be received just now. A conflict with another program does not pass
// by itself, and counts at once.
func (c *Channel) Health() error {
	return cmp.Or(c.well.lasting(), c.stored.lasting())
}

func (h *health) lasting() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var no *refusal
	if errors.As(h.err, &no) && no.Code == http.StatusConflict || time.Since(h.since) >= outage {
		return h.err
	}
	return nil
}
