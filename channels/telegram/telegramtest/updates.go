package telegramtest

import (
	"encoding/json"
	"slices"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// updates is the queue of updates that the bot has not confirmed.
type updates struct {
	pending []update
	next    int
	allowed []string // nil means the default
	poll    *poll    // the open one, or nil
}

type update struct {
	id       int
	body     json.RawMessage
	orderKey string // see orderKey
}

// poll is a waiting getUpdates. The next one ends it with a conflict.
type poll struct{ conflict string }

func newUpdates() updates { return updates{next: 872_000_001} }

// updateTypes are all update types. Those of optInUpdateTypes are delivered only if the bot asks
// for them.
var (
	updateTypes = []string{
		"message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
		"edited_business_message", "deleted_business_messages", "guest_message", "message_reaction",
		"message_reaction_count", "inline_query", "chosen_inline_result", "callback_query", "shipping_query",
		"pre_checkout_query", "purchased_paid_media", "poll", "poll_answer", "my_chat_member", "chat_member",
		"chat_join_request", "chat_boost", "removed_chat_boost", "managed_bot",
	}
	optInUpdateTypes = []string{"chat_member", "message_reaction", "message_reaction_count"}
)

// offerUpdate enqueues an update if the bot wants its type and may see it.
func (s *Server) offerUpdate(kind string, body json.RawMessage, visible bool) {
	wanted := slices.Contains(s.updates.allowed, kind)
	if len(s.updates.allowed) == 0 {
		wanted = !slices.Contains(optInUpdateTypes, kind)
	}
	s.Broadcast()
	if wanted && visible {
		s.enqueueUpdate(encode(map[string]json.RawMessage{"update_id": encode(s.updates.next), kind: body}))
	}
}

func (s *Server) enqueueUpdate(body json.RawMessage) int {
	id := s.updates.next
	s.updates.next++
	s.updates.pending = append(s.updates.pending, update{id, body, orderKey(id, body)})
	s.Broadcast()
	return id
}

// SetNextIDs sets the IDs of the next update and of the next message in a private chat or basic
// group. It is for a bot with an earlier history, whose IDs must not be issued again.
func (s *Server) SetNextIDs(update, message int) {
	s.Update(func() { s.updates.next, s.nextMessageID = update, message-1 })
}

// PendingUpdates returns the number of updates that the bot has not confirmed.
func (s *Server) PendingUpdates() int {
	s.Lock()
	defer s.Unlock()
	return len(s.updates.pending)
}

// AwaitPending waits until at most n updates are unconfirmed. It reports false after the timeout.
func (s *Server) AwaitPending(n int, timeout time.Duration) bool {
	return s.AwaitFor(timeout, func() bool { return len(s.updates.pending) <= n })
}

// AwaitPoll waits until a poll is open, so that the next steps of the test happen during it.
func (s *Server) AwaitPoll(t fakenet.TB) {
	t.Helper()
	if !s.AwaitFor(WaitLimit, func() bool { return s.updates.poll != nil }) {
		t.Fatalf("no poll is open after %s", WaitLimit)
	}
}
