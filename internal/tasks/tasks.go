// Package tasks runs tasks in goroutines and waits for them. It knows nothing of what they do.
package tasks

import (
	"context"
	"runtime"
	"sync"
)

// Group runs tasks in goroutines that Run waits for, with the context of Run.
type Group struct {
	mu         sync.Mutex
	queued     []func(ctx context.Context)     // tasks that Run starts when it begins
	start      func(func(ctx context.Context)) // starts the goroutine of a task; nil before Run
	unfinished int                             // tasks that are queued or running
	idle       chan struct{}                   // closed when the last task ends; nil without a waiter
	ended      bool                            // Run has ended
}

// New returns a group. Tasks that are queued before Run are started by Run.
func New() *Group { return &Group{} }

// Go starts a task, or queues it for Run. It never blocks. It reports false if Run has ended; then
// the task is not started.
func (g *Group) Go(task func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return false
	}
	g.unfinished++
	if g.start == nil {
		g.queued = append(g.queued, task)
	} else {
		g.start(task)
	}
	return true
}

// Run has tasks run until ctx ends, and returns when none is left. Tasks that are added meanwhile
// are also started, with the ended ctx. Run is called once.
func (g *Group) Run(ctx context.Context) {
	g.startQueued(ctx)
	<-ctx.Done()
	for !g.end() {
		g.WaitIdle(context.WithoutCancel(ctx))
	}
}

// startQueued starts the queued tasks. Go starts later ones itself, since another goroutine that
// does so would delay them by the time that it takes to wake it.
func (g *Group) startQueued(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.start = func(task func(ctx context.Context)) {
		go func() { // Run waits for it by g.unfinished
			GrowStack()
			defer g.done()
			task(ctx)
		}()
	}
	for _, task := range g.queued {
		g.start(task)
	}
	g.queued = nil
}

// end ends the group. It reports false if there are still tasks.
func (g *Group) end() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = g.unfinished == 0
	return g.ended
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

// GrowStack grows the stack of a new goroutine to the 32 KiB that a step of a turn needs. The
// runtime would double it four times and copy all its frames each time.
//
//go:noinline
func GrowStack() {
	var room [20 << 10]byte
	runtime.KeepAlive(&room)
}
