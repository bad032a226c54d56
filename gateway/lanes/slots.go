package lanes

import (
	"context"
	"sync"
	"time"

	"nanobot/gateway/retry"
)

// slots are semaphores that bound how many turns run, wait and store at the same time.
type slots struct {
	taken   chan struct{} // one element per slot in use
	yielded chan struct{} // one element per turn that waits without a slot
	storing chan struct{} // one element per turn that has released its slot and still stores its agent's output
}

func newSlots(n int) *slots {
	return &slots{taken: make(chan struct{}, n), yielded: make(chan struct{}, n), storing: make(chan struct{}, n)}
}

// tryAcquire acquires up to limit free slots without waiting, and returns how many it acquired.
func (s *slots) tryAcquire(limit int) (taken int) {
	for ; taken < limit; taken++ {
		select {
		case s.taken <- struct{}{}:
		default:
			return taken
		}
	}
	return taken
}

// releaseUnused releases n slots for which there was no turn.
func (s *slots) releaseUnused(n int) {
	for range n {
		<-s.taken
	}
}

// Slot is the permission of one turn to run its agent.
type Slot struct {
	of *slots

	mu      sync.Mutex
	held    bool // of.taken has an element for this slot
	storing bool // of.storing has an element for this slot
}

// AgentExited releases the slot although the turn continues: the agent has exited, and only its
// output is still being stored. At most as many turns as there are slots do this, so that turns do
// not pile up on a slow disk.
func (s *Slot) AgentExited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.held {
		return
	}
	select {
	case s.of.storing <- struct{}{}:
		s.storing = true
		s.release()
	default:
	}
}

// Release releases the slot, if the turn has it. A turn that waits for a person releases its slot,
// too, and reacquires it with Retake. Any number of turns may wait for people.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storing {
		s.storing = false
		<-s.of.storing
	}
	s.release()
}

// release must be called with s.mu locked.
func (s *Slot) release() {
	if s.held {
		s.held = false
		<-s.of.taken
	}
}

// markHeld records that the turn has the slot.
func (s *Slot) markHeld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Yield releases the slot, sleeps until the pause is over or wake has a value, and reacquires a
// slot. It reports false when ctx ends before. At most as many turns as there are slots sleep
// without one, so that a large backlog stays on disk.
func (s *Slot) Yield(ctx context.Context, pause time.Duration, wake <-chan struct{}) bool {
	select {
	case s.of.yielded <- struct{}{}:
	default:
		return retry.SleepUnless(ctx, pause, wake)
	}
	defer func() { <-s.of.yielded }()
	s.Release()
	return retry.SleepUnless(ctx, pause, wake) && s.Retake(ctx)
}

// Retake waits for a slot after Release. It reports false when ctx ends before.
func (s *Slot) Retake(ctx context.Context) bool {
	select {
	case s.of.taken <- struct{}{}:
		s.markHeld()
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // the turn may be abandoned already
		s.Release()
		return false
	}
	return true
}
