package pace

// Chats returns how many chats are remembered.
func (p *Pacer) Chats() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.chats)
}
