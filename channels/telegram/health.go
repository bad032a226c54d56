package telegram

import (
	"cmp"
	"errors"
	"net/http"
	"sync"
	"time"
)

// health is the current failure of one step of receiving.
type health struct {
	mu    sync.Mutex
	err   error
	since time.Time
}

// outageAfter is how long a step may fail before Health reports it: most failures end in seconds.
const outageAfter = time.Minute

// set records the result of the last attempt.
func (h *health) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.since = time.Now()
	}
	h.err = err
}

// Health returns the error that prevents receiving. A conflict with another program does not end by
// itself, so it is reported at once.
func (c *Channel) Health() error {
	return cmp.Or(c.connectionHealth.lastingError(), c.storageHealth.lastingError())
}

func (h *health) lastingError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var apiErr *apiError
	if errors.As(h.err, &apiErr) && apiErr.Code == http.StatusConflict || time.Since(h.since) >= outageAfter {
		return h.err
	}
	return nil
}
