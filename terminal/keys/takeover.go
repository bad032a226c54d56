package keys

import (
	"context"
	"time"
)

// takeover is the state of a person's takeover of the terminal.
type takeover struct {
	taken     bool
	lastInput time.Time // time of the person's last input
	count     int       // number of takeovers so far
}

// takeOver gives the terminal to the person. It reports false if the person already has it.
func (s *session) takeOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.takeover.taken {
		return false
	}
	s.takeover = takeover{taken: true, lastInput: time.Now(), count: s.takeover.count + 1}
	s.notifyWatchersLocked() // to update the buttons
	return true
}

// handBack gives the terminal back to the agent. It reports false if the agent already has it.
func (s *session) handBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.takeover.taken {
		return false
	}
	s.takeover = takeover{count: s.takeover.count}
	s.notifyWatchersLocked()
	return true
}

func (s *session) isTaken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeover.taken
}

// takeovers returns how often the terminal was taken over.
func (s *session) takeovers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeover.count
}

// recordUserInput records the time of the person's input.
func (s *session) recordUserInput() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeover.lastInput = time.Now()
}

// awaitHandBack waits until the terminal is handed back. It hands the terminal back itself, and
// returns true, if there is no input for the session's idle time. It returns false also when the
// session or ctx ends.
func (s *session) awaitHandBack(ctx context.Context) (idle bool) {
	for {
		change := s.changed()
		s.mu.Lock()
		now := s.takeover
		s.mu.Unlock()
		if !now.taken {
			return false
		}
		rest := s.idleTime - time.Since(now.lastInput)
		if rest <= 0 {
			s.handBack()
			return true
		}
		select {
		case <-change:
		case <-time.After(rest):
		case <-s.ended:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// InUse reports whether a person uses the terminal between turns. The pool does not end it then.
func (s *session) InUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeover.taken && time.Since(s.takeover.lastInput) < s.idleTime
}
