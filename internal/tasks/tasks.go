// Package tasks starts goroutines for its callers and owns them. It knows nothing of what they do.
package tasks

import (
	"context"
	"sync"
)

// Group runs tasks in goroutines that its Run owns, with the context of Run.
type Group struct {
	wake chan struct{} // something is queued for Run

	mu     sync.Mutex
	queued []func(ctx context.Context)
	count  int           // tasks that are queued or run
	idle   chan struct{} // closed when the last of them ends; nil when nobody waits
	ended  bool          // Run starts nothing more
}

// New returns a group. What is given to it before Run is started by Run.
func New() *Group { return &Group{wake: make(chan struct{}, 1)} }

// Go has Run start a task. It never blocks. It reports false when Run has ended, and the task is
// not started.
func (g *Group) Go(task func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.count++
	g.queued = append(g.queued, task)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return true
}

// Run starts tasks until ctx ends, and returns when none is left. Tasks that are given to the group
// while it ends are started as well; they find that ctx has ended. Run is called once.
func (g *Group) Run(ctx context.Context) {
	var running sync.WaitGroup
	for ctx.Err() == nil {
		g.start(ctx, &running)
		select {
		case <-g.wake:
		case <-ctx.Done():
		}
	}
	for g.start(ctx, &running) {
		running.Wait()
	}
}

// start starts what is queued. It reports false when the group has ended: ctx has, and no task is
// left.
func (g *Group) start(ctx context.Context, running *sync.WaitGroup) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, task := range g.queued {
		running.Go(func() {
			defer g.done()
			task(ctx)
		})
	}
	g.queued = nil
	g.ended = ctx.Err() != nil && g.count == 0
	return !g.ended
}

func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count--
	if g.count == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Idle returns when no task is queued or runs, or when ctx ends. It reports whether no task is
// left.
func (g *Group) Idle(ctx context.Context) bool {
	for {
		g.mu.Lock()
		if g.count == 0 {
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
