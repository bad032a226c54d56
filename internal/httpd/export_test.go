package httpd

// Len is how many addresses are kept.
func (a *Attempts) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.clients)
}
