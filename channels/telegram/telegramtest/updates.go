package telegramtest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// updates is the queue of what the bot has not confirmed yet.
type updates struct {
	pending []update
	next    int
	allowed []string // nil: the default
	poll    *poll    // the one that is open
}

type update struct {
	id   int
	body json.RawMessage
}

// poll is a getUpdates that waits. The next one ends it with conflict.
type poll struct{ conflict string }

func newUpdates() updates { return updates{next: 872_000_001} }

// kinds are the update types there are; unasked are those that only come when asked for by name.
var (
	kinds = []string{
		"message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
		"edited_business_message", "deleted_business_messages", "guest_message", "message_reaction",
		"message_reaction_count", "inline_query", "chosen_inline_result", "callback_query", "shipping_query",
		"pre_checkout_query", "purchased_paid_media", "poll", "poll_answer", "my_chat_member", "chat_member",
		"chat_join_request", "chat_boost", "removed_chat_boost", "managed_bot",
	}
	unasked = []string{"chat_member", "message_reaction", "message_reaction_count"}
)

// offer makes something an update, if the bot wants its kind and may see it.
func (s *Server) offer(kind string, body json.RawMessage, visible bool) {
	wanted := slices.Contains(s.updates.allowed, kind)
	if len(s.updates.allowed) == 0 {
		wanted = !slices.Contains(unasked, kind)
	}
	s.more.Broadcast()
	if wanted && visible {
		s.enqueue(encode(map[string]json.RawMessage{"update_id": encode(s.updates.next), kind: body}))
	}
}

func (s *Server) enqueue(body json.RawMessage) int {
	id := s.updates.next
	s.updates.next++
	s.updates.pending = append(s.updates.pending, update{id, body})
	s.more.Broadcast()
	return id
}

// SetNextIDs sets the ids of the next update and of the next message in a private chat or basic
// group. A test of a bot that has a history with Telegram uses it, so that the server does not
// issue ids that the bot has seen.
func (s *Server) SetNextIDs(update, message int) {
	s.update(func() { s.updates.next, s.nextID = update, message-1 })
}

// PendingUpdates returns how many updates the bot has not confirmed.
func (s *Server) PendingUpdates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates.pending)
}

// AwaitPending waits until the bot has confirmed all but n updates. It reports false when that
// takes longer than patience.
func (s *Server) AwaitPending(n int, patience time.Duration) bool {
	return s.awaitFor(patience, func() bool { return len(s.updates.pending) <= n })
}

// AwaitPoll waits until a poll is open, so that what a test does next happens during it.
func (s *Server) AwaitPoll(t testing.TB) {
	t.Helper()
	if !s.awaitFor(WaitLimit, func() bool { return s.updates.poll != nil }) {
		t.Fatalf("no poll is open after %s", WaitLimit)
	}
}
