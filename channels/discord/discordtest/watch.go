package discordtest

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// WaitLimit is how long Wait and its like wait.
const WaitLimit = 5 * time.Minute

// Change is one thing that the bot did to what a channel shows.
type Change struct {
	Kind    string // create, edit or delete
	Channel string
	Message Message // as it was then
	Nonce   string
	Call    int
	At      time.Time
}

// Changes returns what the bot did in a channel, or in all for "", in order.
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

// TypingCount returns how often the bot has shown in a channel that it types.
func (s *Server) TypingCount(channel string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.channels[channel].typing
}

// BotMessages returns what the bot has sent to a channel, or to all for "", in order and as it is now:
// edited, and without what was deleted. What only one person sees is there too, marked with
// FlagEphemeral.
func (s *Server) BotMessages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(channel, true)
}

// History returns all that a channel shows now, from the bot and from others.
func (s *Server) History(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(channel, false)
}

func (s *Server) shown(id string, ours bool) (out []Message) {
	for _, ch := range s.channels {
		for _, m := range ch.messages {
			if (id == "" || ch.ID == id) && !m.Deleted && (!ours || m.Call > 0) {
				out = append(out, s.shape(m, intentContent))
			}
		}
	}
	slices.SortFunc(out, func(a, b Message) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return out
}

// AwaitMessages waits until what the bot shows a channel satisfies a condition, and returns it. It reports
// false when that takes longer than patience.
func (s *Server) AwaitMessages(channel string, patience time.Duration, enough func([]Message) bool) (shown []Message, ok bool) {
	ok = s.await(patience, func() bool { shown = s.shown(channel, true); return enough(shown) })
	return shown, ok
}

// WaitForCount waits until the bot shows a channel n messages, and fails the test if it does not.
func (s *Server) WaitForCount(t testing.TB, channel string, n int) []Message {
	t.Helper()
	shown, ok := s.AwaitMessages(channel, WaitLimit, func(m []Message) bool { return len(m) >= n })
	if !ok {
		t.Fatalf("channel %s shows %d messages after %s and should show %d: %q", channel, len(shown), WaitLimit, n, words(shown))
	}
	return shown
}

// WaitForText waits until the bot shows a channel a message that says exactly this, and fails the test
// if it does not.
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
		t.Fatalf("channel %s does not show %q after %s, but %q", channel, text, WaitLimit, words(shown))
	}
	return found
}

func words(shown []Message) []string {
	out := []string{}
	for _, m := range shown {
		out = append(out, m.Content)
	}
	return out
}
