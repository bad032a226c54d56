package telegramtest

import (
	"slices"
	"testing"
	"time"
)

// WaitLimit bounds the waits that fail the test.
const WaitLimit = 5 * time.Minute

// BotMessages returns the bot's messages in a chat, or in all chats for 0, in order: as edited, and
// without deleted ones.
func (s *Server) BotMessages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleMessages(chat)
}

func (s *Server) visibleMessages(chat int64) []Message {
	var out []Message
	for _, c := range s.chats {
		if chat != 0 && c.ID != chat {
			continue
		}
		for _, m := range c.messages {
			if !m.deleted && m.Call > 0 {
				out = append(out, *m)
			}
		}
	}
	if chat == 0 {
		slices.SortStableFunc(out, func(a, b Message) int { return a.Call - b.Call })
	}
	return out
}

// Notifying returns the bot's messages in a chat, or in all chats for 0, that people were notified
// of, in order; deleted ones included. Telegram notifies once of an album.
func (s *Server) Notifying(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, c := range s.chats {
		for _, m := range c.messages {
			again := len(out) > 0 && m.MediaGroupID != "" && out[len(out)-1].MediaGroupID == m.MediaGroupID
			if (chat == 0 || c.ID == chat) && m.Call > 0 && !m.Silent && !again {
				out = append(out, *m)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Message) int { return a.Call - b.Call })
	return out
}

// AwaitMessages waits until enough reports true for the bot's messages in a chat, and returns the
// messages. It reports false after the timeout.
func (s *Server) AwaitMessages(chat int64, timeout time.Duration, enough func([]Message) bool) (shown []Message, ok bool) {
	ok = s.awaitFor(timeout, func() bool { shown = s.visibleMessages(chat); return enough(shown) })
	return shown, ok
}

// WaitForCount waits until a chat shows n messages of the bot, and fails the test after WaitLimit.
func (s *Server) WaitForCount(t testing.TB, chat int64, n int) []Message {
	t.Helper()
	shown, ok := s.AwaitMessages(chat, WaitLimit, func(m []Message) bool { return len(m) >= n })
	if !ok {
		t.Fatalf("chat %d shows %d messages after %s, want %d: %s", chat, len(shown), WaitLimit, n, describeMessages(shown))
	}
	return shown
}

// WaitForText waits until a chat shows a message of the bot with exactly this text or caption, and
// fails the test after WaitLimit.
func (s *Server) WaitForText(t testing.TB, chat int64, text string) Message {
	t.Helper()
	var found Message
	shown, ok := s.AwaitMessages(chat, WaitLimit, func(all []Message) bool {
		i := slices.IndexFunc(all, func(m Message) bool { return m.TextOrCaption() == text })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("chat %d does not show %q after %s; it shows %q", chat, text, WaitLimit, describeMessages(shown))
	}
	return found
}

func describeMessages(shown []Message) []string {
	out := []string{}
	for _, m := range shown {
		out = append(out, m.Kind()+": "+m.TextOrCaption())
	}
	return out
}
