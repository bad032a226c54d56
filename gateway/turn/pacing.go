package turn

import (
	"context"
	"sync"
	"time"

	"nanobot/gateway/retry"
)

const (
	// editEvery is the shortest time between two edits: about what networks allow a chat.
	editEvery = 1500 * time.Millisecond
	// longestHold bounds how long a network can have nothing shown.
	longestHold = 5 * time.Minute
)

// pacing spaces out what a turn shows while it runs, all of it together.
type pacing struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits for the next time at which something may be shown. It reports false when ctx ends
// before.
func (p *pacing) wait(ctx context.Context) bool {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(editEvery)
	p.mu.Unlock()
	return retry.Sleep(ctx, at.Sub(now))
}

// delay keeps everything waiting for some time: the network has asked for it, or is slow, so that
// others should have their turn.
func (p *pacing) delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if next := time.Now().Add(min(d, longestHold)); next.After(p.next) {
		p.next = next
	}
}
