package discordtest

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// WaitLimit bounds the waits that fail the test.
const WaitLimit = 5 * time.Minute

// Change is one change of a channel's messages by the bot.
type Change struct {
	Kind    string // create, edit or delete
	Channel string
	Message Message // after the change
	Nonce   string
	Call    int
	At      time.Time
}

// Changes returns the changes of a channel, or of all channels for "", in order.
func (s *Server) Changes(channel string) (out []Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.changes {
		if channel == "" || c.Channel == channel {
			out = append(out, c)
		}
	}
	return out
}

// TypingCount returns how often the bot has started a typing indicator in a channel.
func (s *Server) TypingCount(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typingCount
}

// BotMessages returns the bot's messages in a channel, or in all channels for "", in order: as
// edited, without deleted ones, and with those that only one person sees (FlagEphemeral).
func (s *Server) BotMessages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleMessages(channel, true)
}

// History returns all messages that a channel shows now, from the bot and from others.
func (s *Server) History(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleMessages(channel, false)
}

func (s *Server) visibleMessages(id string, ours bool) (out []Message) {
	for _, ch := range s.channels {
		for _, m := range ch.messages {
			if (id == "" || ch.ID == id) && !m.Deleted && (!ours || m.Call > 0) {
				out = append(out, s.messageFor(m, intentContent))
			}
		}
	}
	slices.SortFunc(out, func(a, b Message) int { return cmp.Compare(parseID(a.ID), parseID(b.ID)) })
	return out
}

// AwaitMessages waits until enough reports true for the bot's messages in a channel, and returns
// the messages. It reports false after the timeout.
func (s *Server) AwaitMessages(channel string, timeout time.Duration, enough func([]Message) bool) (shown []Message, ok bool) {
	ok = s.await(timeout, func() bool { shown = s.visibleMessages(channel, true); return enough(shown) })
	return shown, ok
}

// WaitForCount waits until a channel shows n messages of the bot, and fails the test after
// WaitLimit.
func (s *Server) WaitForCount(t testing.TB, channel string, n int) []Message {
	t.Helper()
	shown, ok := s.AwaitMessages(channel, WaitLimit, func(m []Message) bool { return len(m) >= n })
	if !ok {
		t.Fatalf("channel %s shows %d messages after %s, want %d: %q", channel, len(shown), WaitLimit, n, contents(shown))
	}
	return shown
}

// WaitForText waits until a channel shows a message of the bot with exactly this text, and fails
// the test after WaitLimit.
func (s *Server) WaitForText(t testing.TB, channel, text string) (found Message) {
	t.Helper()
	shown, ok := s.AwaitMessages(channel, WaitLimit, func(all []Message) bool {
		i := slices.IndexFunc(all, func(m Message) bool { return m.Content == text })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("channel %s does not show %q after %s; it shows %q", channel, text, WaitLimit, contents(shown))
	}
	return found
}

func contents(shown []Message) []string {
	out := []string{}
	for _, m := range shown {
		out = append(out, m.Content)
	}
	return out
}
