package httpd

// Len returns how many addresses are counted separately.
func (a *Attempts) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients)
}
