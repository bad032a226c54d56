package lanes

import (
	"context"
	"sync"
	"time"

	"nanobot/gateway/retry"
)

// slots are the permissions to run a turn.
type slots struct {
	taken   chan struct{} // one for each slot that is taken
	yielded chan struct{} // one for each turn that waits without a slot
	storing chan struct{} // one for each turn whose agent has exited and that has given its slot back
}

func newSlots(n int) *slots {
	return &slots{taken: make(chan struct{}, n), yielded: make(chan struct{}, n), storing: make(chan struct{}, n)}
}

// takeFree takes up to so many slots that are free, and returns how many it took.
func (s *slots) takeFree(most int) (taken int) {
	for ; taken < most; taken++ {
		select {
		case s.taken <- struct{}{}:
		default:
			return taken
		}
	}
	return taken
}

// free gives slots back that no turn got.
func (s *slots) free(n int) {
	for range n {
		<-s.taken
	}
}

// Slot is the permission of one turn to run.
type Slot struct {
	of *slots

	mu      sync.Mutex
	held    bool // of.taken has an element for it
	storing bool // of.storing has an element for it
}

// AgentExited gives the slot back though the turn goes on: its agent has exited, and what it has
// said is being stored, for which another agent need not wait. Only as many turns as there are
// slots do so: a slow disk must not let turns pile up.
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

// Release gives the slot back, if the turn has it. A turn that waits for a person does so, too, and
// Retake then waits for a slot. Any number of turns may wait like that.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storing {
		s.storing = false
		<-s.of.storing
	}
	s.release()
}

// release is called with s.mu.
func (s *Slot) release() {
	if s.held {
		s.held = false
		<-s.of.taken
	}
}

// hold says that the slot is taken for the turn.
func (s *Slot) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Yield waits and lets another turn have the slot meanwhile. It reports false when ctx ends before
// the slot is back. Only as many turns as there are slots wait without one: of a large backlog the
// rest stays on disk.
func (s *Slot) Yield(ctx context.Context, pause time.Duration) bool {
	select {
	case s.of.yielded <- struct{}{}:
	default:
		return retry.Sleep(ctx, pause)
	}
	defer func() { <-s.of.yielded }()
	s.Release()
	return retry.Sleep(ctx, pause) && s.Retake(ctx)
}

// Retake waits for a slot after Release. It reports false when ctx ends before.
func (s *Slot) Retake(ctx context.Context) bool {
	select {
	case s.of.taken <- struct{}{}:
		s.hold()
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // nobody may be waiting for the turn any more
		s.Release()
		return false
	}
	return true
}
