package keys

import (
	"context"
	"time"
)

// takeover says whether a person has taken the terminal over from the agent.
type takeover struct {
	taken    bool
	used     time.Time     // the last input of the person
	handBack chan struct{} // closed when the person hands the terminal back
	count    int           // how often the terminal was taken over
}

// takeOver gives the terminal to the person. It reports false if the person has it already.
func (s *session) takeOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.takeover.taken {
		return false
	}
	s.takeover = takeover{taken: true, used: time.Now(), handBack: make(chan struct{}), count: s.takeover.count + 1}
	s.wakeLocked() // the buttons change
	return true
}

// handBack gives the terminal back to the agent. It reports false if the agent has it already.
func (s *session) handBack() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.takeover.taken {
		return false
	}
	close(s.takeover.handBack)
	s.takeover = takeover{count: s.takeover.count}
	s.wakeLocked()
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

// recordUserInput notes that the person has typed something.
func (s *session) recordUserInput() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeover.used = time.Now()
}

// awaitHandBack waits until the person hands the terminal back. A person without input for the
// session's idle time hands back, too; it reports true then.
func (s *session) awaitHandBack(ctx context.Context) (idle bool) {
	for {
		s.mu.Lock()
		now := s.takeover
		s.mu.Unlock()
		if !now.taken {
			return false
		}
		rest := s.idle - time.Since(now.used)
		if rest <= 0 {
			s.handBack()
			return true
		}
		select {
		case <-now.handBack:
		case <-time.After(rest):
		case <-s.dead:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// InUse reports whether a person uses the terminal between turns, so that the pool keeps it.
func (s *session) InUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeover.taken && time.Since(s.takeover.used) < s.idle
}
