package display

import (
	"context"
	"sync"
	"time"
)

const (
	// editInterval is the shortest time between two edits, roughly the rate that networks allow per
	// chat.
	editInterval = 1500 * time.Millisecond
	// maxDelay bounds the delay that a network can ask for.
	maxDelay = 5 * time.Minute
)

// pacing limits the rate of a turn's transient updates.
type pacing struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits until the next update is allowed, or until hurry has an element, which it receives. It
// reports false when ctx ends before.
func (p *pacing) wait(ctx context.Context, hurry <-chan struct{}) bool {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(editInterval)
	p.mu.Unlock()
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hurry:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// delay postpones the next update: the network has asked for it, or is slow.
func (p *pacing) delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := time.Now().Add(min(d, maxDelay)); next.After(p.next) {
		p.next = next
	}
}
