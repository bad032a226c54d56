// Package tasks counts goroutines so that their owner can wait for them. It knows nothing of what they do.
package tasks

import (
	"context"
	"sync"
)

// Group is a set of goroutines with one owner. Unlike a sync.WaitGroup it can be waited for with a context, and tasks may be added while
// somebody waits. The zero Group is ready to use.
type Group struct {
	mu      sync.Mutex
	running int
	idle    chan struct{} // closed when the last task ends; nil when nobody waits
}

// Go runs a task in a goroutine of the group. It never blocks.
func (g *Group) Go(task func()) {
	g.mu.Lock()
	g.running++
	g.mu.Unlock()
	go func() {
		defer g.ended()
		task()
	}()
}

func (g *Group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running--
	if g.running == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Idle returns when no task runs or ctx ends. It reports whether no task runs.
func (g *Group) Idle(ctx context.Context) bool {
	for {
		g.mu.Lock()
		if g.running == 0 {
			g.mu.Unlock()
			return true
		}
		if g.idle == nil {
			g.idle = make(chan struct{})
		}
		idle := g.idle
		g.mu.Unlock()
		select {
		case <-idle: // a new task may have begun since
		case <-ctx.Done():
			return false
		}
	}
}

// Wait returns when no task runs.
func (g *Group) Wait() { g.Idle(context.Background()) }
