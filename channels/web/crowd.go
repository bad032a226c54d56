package web

import "sync"

// crowd counts what goes on at once, by name.
type crowd struct {
	mu     sync.Mutex
	inside map[string]int
}

// enter tells whether there is room for one more. Whoever enters leaves.
func (c *crowd) enter(name string, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside[name] >= most {
		return false
	}
	c.inside[name]++
	return true
}

func (c *crowd) leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside[name]--; c.inside[name] == 0 {
		delete(c.inside, name)
	}
}
