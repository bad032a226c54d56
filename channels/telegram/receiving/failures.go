package receiving

import "sync"

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
