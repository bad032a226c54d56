package web

import "sync"

// requestCounts counts the requests in progress, by name.
type requestCounts struct {
	mu     sync.Mutex
	counts map[string]int
}

// tryAdd counts one more request unless max are in progress. After true the caller calls remove.
func (c *requestCounts) tryAdd(name string, max int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[name] >= max {
		return false
	}
	c.counts[name]++
	return true
}

func (c *requestCounts) remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[name]--; c.counts[name] == 0 {
		delete(c.counts, name)
	}
}
