package lanes

import (
	"context"
	"sync/atomic"
	"time"

	"nanobot/gateway/retry"
)

// slots are the permissions to run a turn.
type slots struct {
	taken   chan struct{} // one for each slot that is taken
	yielded chan struct{} // one for each turn that waits without a slot
}

func newSlots(n int) *slots {
	return &slots{taken: make(chan struct{}, n), yielded: make(chan struct{}, n)}
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
	of   *slots
	held atomic.Bool
}

// Release gives the slot back, if the turn has it.
func (s *Slot) Release() {
	if s.held.CompareAndSwap(true, false) {
		<-s.of.taken
	}
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
	if !retry.Sleep(ctx, pause) {
		return false
	}
	select {
	case s.of.taken <- struct{}{}:
		s.held.Store(true)
	case <-ctx.Done():
		return false
	}
	if ctx.Err() != nil { // nobody may be waiting for the turn any more
		s.Release()
		return false
	}
	return true
}
