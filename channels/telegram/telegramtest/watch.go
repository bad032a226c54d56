package telegramtest

import (
	"slices"
	"testing"
	"time"
)

// WaitLimit is how long Wait waits.
const WaitLimit = 5 * time.Minute

// BotMessages returns what the bot has sent to a chat, or to all chats for 0, in order and as it is now:
// edited, and without what was deleted.
func (s *Server) BotMessages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(chat)
}

func (s *Server) shown(chat int64) []Message {
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

// AwaitMessages waits until what the bot shows a chat satisfies a condition, and returns it. It reports
// false when that takes longer than patience.
func (s *Server) AwaitMessages(chat int64, patience time.Duration, enough func([]Message) bool) (shown []Message, ok bool) {
	ok = s.awaitFor(patience, func() bool { shown = s.shown(chat); return enough(shown) })
	return shown, ok
}

// WaitForCount waits until the bot shows a chat n messages, and fails the test if it does not.
func (s *Server) WaitForCount(t testing.TB, chat int64, n int) []Message {
	t.Helper()
	shown, ok := s.AwaitMessages(chat, WaitLimit, func(m []Message) bool { return len(m) >= n })
	if !ok {
		t.Fatalf("chat %d shows %d messages after %s and should show %d: %s", chat, len(shown), WaitLimit, n, words(shown))
	}
	return shown
}

// WaitForText waits until the bot shows a chat a message that says exactly this, and fails the test if
// it does not.
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
		t.Fatalf("chat %d does not show %q after %s, but %q", chat, text, WaitLimit, words(shown))
	}
	return found
}

func words(shown []Message) []string {
	out := []string{}
	for _, m := range shown {
		out = append(out, m.Kind()+": "+m.TextOrCaption())
	}
	return out
}
