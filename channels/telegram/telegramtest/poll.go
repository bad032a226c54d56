package telegramtest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

const (
	conflictOtherPoll     = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
	conflictWebhookActive = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
	conflictWebhookSet    = "Conflict: terminated by setWebhook request"
)

func conflictError(text string) error { return &apiError{status: http.StatusConflict, text: text} }

// getUpdates confirms the updates below the offset and waits for more. It ends a getUpdates that is
// already waiting.
func (s *Server) getUpdates(ctx context.Context, c *Call) (any, error) {
	mine, err := s.openPoll(c)
	if err != nil {
		return nil, err
	}
	limit := int(c.IntParam("limit"))
	if limit < 1 || limit > 100 {
		limit = 100
	}
	// Telegram limits the timeout to 50 s.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(min(c.IntParam("timeout"), 50))*time.Second)
	defer cancel()
	batch := []json.RawMessage{}
	conflicted := ""
	s.Await(ctx, func() bool {
		conflicted = mine.conflict
		for _, u := range s.updates.pending[:min(limit, len(s.updates.pending))] {
			batch = append(batch, u.body)
		}
		return conflicted != "" || len(batch) > 0
	})
	s.Update(func() {
		if s.updates.poll == mine {
			s.updates.poll = nil
		}
	})
	if conflicted != "" {
		return nil, conflictError(conflicted)
	}
	return batch, nil
}

// openPoll ends the open poll, stores the allowed updates, and confirms updates.
func (s *Server) openPoll(c *Call) (*poll, error) {
	s.Lock()
	defer s.Unlock()
	if s.webhook.url != "" {
		return nil, conflictError(conflictWebhookActive)
	}
	if err := s.setAllowedUpdates(c); err != nil {
		return nil, err
	}
	s.endPoll(conflictOtherPoll)
	s.updates.poll = &poll{}
	s.Broadcast()
	s.updates.confirm(int(c.IntParam("offset")))
	return s.updates.poll, nil
}

func (s *Server) endPoll(why string) {
	if s.updates.poll != nil {
		s.updates.poll.conflict = why
		s.Broadcast()
	}
}

// setAllowedUpdates stores the update types that the bot wants. Pending updates stay.
func (s *Server) setAllowedUpdates(c *Call) error {
	if !c.has("allowed_updates") {
		return nil
	}
	var allowed []string
	if err := decodeStrict("allowed_updates", c.Params["allowed_updates"], &allowed); err != nil {
		return err
	}
	for _, kind := range allowed {
		if !slices.Contains(updateTypes, kind) {
			s.AddViolation("%s: there is no update type %s", c.Method, kind)
		}
	}
	s.updates.allowed = allowed
	return nil
}

// confirm removes the updates below an offset. A negative offset counts from the end of the queue.
func (u *updates) confirm(offset int) {
	if offset < 0 {
		u.pending = u.pending[max(0, len(u.pending)+offset):]
		return
	}
	below := func(one update) bool { return one.id < offset }
	u.pending = slices.DeleteFunc(u.pending, below)
}
