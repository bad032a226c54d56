package telegramtest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

const (
	otherPoll = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	hookSet   = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	hookCame  = "Conflict: terminated by setWebhook request"
)

func conflict(text string) error { return &refusal{status: http.StatusConflict, text: text} }

// getUpdates confirms and forgets what lies below the offset, and waits for the rest. A second one
// ends the first.
func (s *Server) getUpdates(ctx context.Context, c *Call) (any, error) {
	mine, err := s.openPoll(c)
	if err != nil {
		return nil, err
	}
	limit := int(c.IntParam("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	// Telegram cuts longer waits to 50 s.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(min(c.IntParam("timeout"), 50))*time.Second)
	defer cancel()
	batch := []json.RawMessage{}
	conflicted := ""
	s.await(ctx, func() bool {
		conflicted = mine.conflict
		for _, u := range s.updates.pending[:min(limit, len(s.updates.pending))] {
			batch = append(batch, u.body)
		}
		return conflicted != "" || len(batch) > 0
	})
	s.update(func() {
		if s.updates.poll == mine {
			s.updates.poll = nil
		}
	})
	if conflicted != "" {
		return nil, conflict(conflicted)
	}
	return batch, nil
}

// openPoll ends the poll that is open, sets what the bot wants to get, and confirms.
func (s *Server) openPoll(c *Call) (*poll, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook.url != "" {
		return nil, conflict(hookSet)
	}
	if err := s.allow(c); err != nil {
		return nil, err
	}
	s.endPoll(otherPoll)
	s.updates.poll = &poll{}
	s.more.Broadcast()
	s.updates.confirm(int(c.IntParam("offset")))
	return s.updates.poll, nil
}

func (s *Server) endPoll(why string) {
	if s.updates.poll != nil {
		s.updates.poll.conflict = why
		s.more.Broadcast()
	}
}

// allow remembers which updates the bot wants. It does not change those that wait already.
func (s *Server) allow(c *Call) error {
	if !c.has("allowed_updates") {
		return nil
	}
	var allowed []string
	if err := strict("allowed_updates", c.Params["allowed_updates"], &allowed); err != nil {
		return err
	}
	for _, kind := range allowed {
		if !slices.Contains(kinds, kind) {
			s.violations = append(s.violations, c.Method+": there is no update type "+kind)
		}
	}
	s.updates.allowed = allowed
	return nil
}

// confirm forgets what lies below an offset; a negative one counts from the end of the queue.
func (u *updates) confirm(offset int) {
	if offset < 0 {
		u.pending = u.pending[max(0, len(u.pending)+offset):]
		return
	}
	below := func(one update) bool { return one.id < offset }
	u.pending = slices.DeleteFunc(u.pending, below)
}
