package receiving

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
)

// health is the current failure of one step of receiving.
type health struct {
	mu    sync.Mutex
	err   error
	since time.Time
}

// outageAfter is how long a step may fail before Health reports it: most failures end in seconds.
const outageAfter = time.Minute

// set records the result of the last attempt. A call that our own rate limit has refused says
// nothing.
func (h *health) set(err error) {
	if errors.Is(err, channels.ErrBusy) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.since = time.Now()
	}
	h.err = err
}

// Health returns the error that prevents receiving. A conflict with another program does not end by
// itself, so it is reported at once.
func (r *Receiver) Health() error {
	return cmp.Or(r.connectionHealth.lastingError(), r.storageHealth.lastingError())
}

func (h *health) lastingError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if botapi.IsConflict(h.err) || time.Since(h.since) >= outageAfter {
		return h.err
	}
	return nil
}

// retry repeats a step until it succeeds, Telegram rejects the token, or ctx ends.
func (h *health) retry(ctx context.Context, log *zap.Logger, what string, step func() error) error {
	for retrier := httpclient.NewRetrier(log, what, httpclient.FirstDelay); ; {
		err := step()
		if tokenErr := botapi.TokenError(err); tokenErr != nil {
			return tokenErr
		}
		h.set(err)
		if err == nil {
			return nil
		}
		if !retrier.Wait(ctx, err) {
			return ctx.Err()
		}
	}
}

// failureLog logs why updates are not received. Many chats may fail for the same reason: only the
// first of them is logged, until it succeeds.
type failureLog struct {
	mu        sync.Mutex
	reporter  any
	lastError string
	health    *health // may be nil; follows the chat that is logged
}

// report logs the error of a chat if it is new.
func (c *failureLog) report(who any, err error, log func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == nil {
		c.reporter = who
	}
	if c.reporter != who {
		return
	}
	if c.health != nil {
		c.health.set(err)
	}
	if c.lastError != err.Error() {
		c.lastError = err.Error()
		log()
	}
}

// resolve ends the failure of a chat.
func (c *failureLog) resolve(who any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == who {
		c.reporter, c.lastError = nil, ""
		if c.health != nil {
			c.health.set(nil)
		}
	}
}
