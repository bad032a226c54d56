package keys

import (
	"context"
	"time"
)

// hands says whether a person has taken the terminal over from the agent.
type hands struct {
	taken    bool
	used     time.Time     // when the person has last done something
	handBack chan struct{} // closed when the person hands back
	times    int           // that the terminal was taken over
}

// take gives the terminal to the person. It reports false if they have it already.
func (s *session) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hands.taken {
		return false
	}
	s.hands = hands{taken: true, used: time.Now(), handBack: make(chan struct{}), times: s.hands.times + 1}
	s.wakeLocked() // the buttons change
	return true
}

// give hands the terminal back to the agent. It reports false if the agent has it already.
func (s *session) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hands.taken {
		return false
	}
	close(s.hands.handBack)
	s.hands = hands{times: s.hands.times}
	s.wakeLocked()
	return true
}

func (s *session) isTaken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hands.taken
}

// timesTaken returns how often the terminal was taken over.
func (s *session) timesTaken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hands.times
}

// useHands notes that the person has done something.
func (s *session) useHands() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hands.used = time.Now()
}

// awaitHandBack waits until the person hands the terminal back. A person who does nothing for too
// long hands back, too.
func (s *session) awaitHandBack(ctx context.Context, patience time.Duration) {
	for {
		s.mu.Lock()
		now := s.hands
		s.mu.Unlock()
		if !now.taken {
			return
		}
		rest := patience - time.Since(now.used)
		if rest <= 0 {
			s.give()
			return
		}
		timer := time.NewTimer(rest)
		select {
		case <-now.handBack:
		case <-s.dead:
			timer.Stop()
			return
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		timer.Stop()
	}
}
