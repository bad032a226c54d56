package postgres

import (
	"sync"
	"time"
)

// claims are what this member has claimed, inbound messages or deliveries, as far as its callers
// know. The answer of a claim may be lost for good.
type claims struct {
	mu    sync.Mutex
	known map[int64]bool
	// unknown are those of which only the database knows, since the first beat that has found them.
	unknown map[int64]time.Time
	lost    []int64 // unknown for longer than a call lasts
}

// add is called before a caller learns of a claim.
func (c *claims) add(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[int64]bool{}
	}
	c.known[id] = true
}

// remove is called when a claim has ended.
func (c *claims) remove(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
}

// compare looks for lost claims among all that the database has. It reports whether there are some.
func (c *claims) compare(all []int64, longest time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.unknown
	c.unknown, c.lost = map[int64]time.Time{}, nil
	for _, id := range all {
		if c.known[id] {
			continue
		}
		since, again := before[id]
		if !again {
			since = time.Now()
		} else if time.Since(since) > longest {
			c.lost = append(c.lost, id)
		}
		c.unknown[id] = since
	}
	return len(c.lost) > 0
}

// takeLost returns the lost claims, which the caller adopts. If that fails, they are found again.
func (c *claims) takeLost() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := c.lost
	for _, id := range lost {
		delete(c.unknown, id)
	}
	c.lost = nil
	return lost
}
