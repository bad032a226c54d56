package pace

// Chats returns how many chats are remembered.
func (p *Pacer) Chats() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.chats)
}

// Calls returns how many calls are remembered for the limit of all calls together.
func (p *Pacer) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.overall.slots)
}
