// Package tasks runs tasks in goroutines and waits for them. It knows nothing of what they do.
package tasks

import (
	"context"
	"sync"
)

// Group runs tasks in goroutines that Run starts and waits for, with the context of Run.
type Group struct {
	wake chan struct{} // has an element when tasks are queued for Run

	mu         sync.Mutex
	queued     []func(ctx context.Context)
	unfinished int           // tasks that are queued or running
	idle       chan struct{} // closed when the last task ends; nil without a waiter
	ended      bool          // Run starts no more tasks
}

// New returns a group. Tasks that are queued before Run are started by Run.
func New() *Group { return &Group{wake: make(chan struct{}, 1)} }

// Go queues a task for Run. It never blocks. It reports false if Run has ended; then the task is
// not started.
func (g *Group) Go(task func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.unfinished++
	g.queued = append(g.queued, task)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return true
}

// Run starts tasks until ctx ends, and returns when none is left. Tasks that are queued meanwhile
// are also started, with the ended ctx. Run is called once.
func (g *Group) Run(ctx context.Context) {
	var running sync.WaitGroup
	for ctx.Err() == nil {
		g.startQueued(ctx, &running)
		select {
		case <-g.wake:
		case <-ctx.Done():
		}
	}
	for g.startQueued(ctx, &running) {
		running.Wait()
	}
}

// startQueued starts the queued tasks. It reports false when the group has ended: ctx has ended,
// and no task is left.
func (g *Group) startQueued(ctx context.Context, running *sync.WaitGroup) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, task := range g.queued {
		running.Go(func() {
			defer g.done()
			task(ctx)
		})
	}
	g.queued = nil
	g.ended = ctx.Err() != nil && g.unfinished == 0
	return !g.ended
}

func (g *Group) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unfinished--
	if g.unfinished == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// WaitIdle returns when no task is queued or running, or when ctx ends. It reports whether no task
// is left.
func (g *Group) WaitIdle(ctx context.Context) bool {
	for {
		g.mu.Lock()
		if g.unfinished == 0 {
			g.mu.Unlock()
			return true
		}
		if g.idle == nil {
			g.idle = make(chan struct{})
		}
		idle := g.idle
		g.mu.Unlock()
		select {
		case <-idle: // a new task may have been queued since
		case <-ctx.Done():
			return false
		}
	}
}
