package acp

import (
	"context"
	"slices"
	"sync"
	"time"

	"nanobot/terminal"
)

// pool keeps the agents of chats that are between two turns, for a while and up to a number.
type pool struct {
	most int // agents that are kept

	mu     sync.Mutex
	chats  map[string]*chat // those with a turn or an agent
	closed bool
	ending sync.WaitGroup // agents that are being ended
}

// chat is a conversation's place in the pool.
type chat struct {
	key   string
	slot  chan struct{} // held by the turn that runs
	users int           // turns that run or wait; the pool's mutex guards it, as it does since and timer
	since time.Time     // of the last turn's end
	timer *time.Timer

	people []string // the ids of those who have had a turn; the mutex guards it as well

	agent *agent // nil: none; for the turn that runs, and else with the pool's mutex
}

// acquire waits until no other turn of the chat runs.
func (p *pool) acquire(ctx context.Context, key string, user *terminal.User) (*chat, error) {
	c := p.enter(key, user)
	select {
	case c.slot <- struct{}{}:
		return c, nil
	case <-ctx.Done():
		p.leave(c)
		return nil, context.Cause(ctx)
	}
}

func (p *pool) enter(key string, user *terminal.User) *chat {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chats[key]
	if c == nil {
		c = &chat{key: key, slot: make(chan struct{}, 1)}
		p.chats[key] = c
	}
	if user != nil && !slices.Contains(c.people, user.ID) {
		c.people = append(c.people, user.ID)
	}
	c.users++
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	return c
}

// leave is called by a turn that did not come to run.
func (p *pool) leave(c *chat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users--; c.users == 0 && c.agent == nil {
		delete(p.chats, c.key)
	}
}

// release ends a chat's turn. An agent that cannot be kept is dead when it returns.
func (p *pool) release(c *chat, idle time.Duration) {
	p.mu.Lock()
	a := c.agent
	if a != nil && (p.closed || a.spoiled || a.isGone()) {
		c.agent = nil
		p.mu.Unlock()
		a.close()
		p.mu.Lock()
	}
	<-c.slot
	c.users--
	c.since = time.Now()
	switch {
	case c.users > 0:
	case c.agent == nil:
		delete(p.chats, c.key)
	default:
		c.timer = time.AfterFunc(idle, func() { p.expire(c) })
	}
	p.mu.Unlock()
	p.shrink(0)
}

// expire ends the agent of a chat that has been idle for long.
func (p *pool) expire(c *chat) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users == 0 && !p.closed {
		p.drop(c)
	}
}

// idle returns the agents that no turn uses.
func (p *pool) idle() (agents []terminal.KeptAgent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.chats {
		if c.users == 0 && c.agent != nil {
			agents = append(agents, terminal.KeptAgent{Chat: c.key, Users: slices.Clone(c.people)})
		}
	}
	return agents
}

// end ends the agent of a chat that no turn uses.
func (p *pool) end(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.chats[key]; c != nil && c.users == 0 && !p.closed {
		p.drop(c)
	}
}

// forget drops an agent that ended while nobody used it.
func (p *pool) forget(c *chat, a *agent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.users == 0 && c.agent == a && !p.closed {
		p.drop(c)
	}
}

// shrink ends idle agents, the one longest idle first, until there is room for some more. Those at
// work stay.
func (p *pool) shrink(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		n, oldest := more, (*chat)(nil)
		for _, c := range p.chats {
			if c.agent == nil {
				continue
			}
			n++
			if c.users == 0 && (oldest == nil || c.since.Before(oldest.since)) {
				oldest = c
			}
		}
		if n <= p.most || oldest == nil {
			return
		}
		p.drop(oldest)
	}
}

// drop forgets a chat that nobody uses and ends its agent, without waiting for that. The caller
// holds the mutex.
func (p *pool) drop(c *chat) {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	delete(p.chats, c.key)
	if a := c.agent; a != nil {
		c.agent = nil
		p.ending.Go(a.close)
	}
}

// session returns what a chat's agent is at; nil: nothing.
func (p *pool) session(key string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.chats[key]; c != nil && c.agent != nil {
		return c.agent.current()
	}
	return nil
}

// holds says whether the agent of another chat has a session of this id.
func (p *pool) holds(id string, but *chat) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.chats {
		if c == but || c.agent == nil {
			continue
		}
		if s := c.agent.current(); s != nil && s.is(id) {
			return true
		}
	}
	return false
}

// keep gives a chat its agent; nil: it has none any more.
func (p *pool) keep(c *chat, a *agent) {
	if a != nil {
		p.shrink(1)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.agent = a
}

// close ends all agents that no turn uses and lets turns keep none from now on. It returns when
// they are dead.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, c := range p.chats {
		if c.users == 0 {
			p.drop(c)
		}
	}
	p.mu.Unlock()
	p.ending.Wait()
}
