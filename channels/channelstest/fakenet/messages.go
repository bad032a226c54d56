package fakenet

import (
	"slices"
	"time"
)

// Messages shows tests the bot's messages. K is the type of a chat's ID, and M that of a message.
type Messages[K, M any] struct {
	state   *State
	visible func(chat K) []M
	text    func(M) string
}

// NewMessages returns the messages of a state. visible is called with the lock held.
func NewMessages[K, M any](state *State, visible func(chat K) []M, text func(M) string) Messages[K, M] {
	return Messages[K, M]{state, visible, text}
}

// BotMessages returns the bot's messages in a chat, or in all chats for the zero chat, in order: as
// edited, and without deleted ones.
func (s Messages[K, M]) BotMessages(chat K) []M {
	s.state.Lock()
	defer s.state.Unlock()
	return s.visible(chat)
}

// AwaitMessages waits until enough reports true for the bot's messages in a chat, and returns the
// messages. It reports false after the timeout.
func (s Messages[K, M]) AwaitMessages(chat K, timeout time.Duration, enough func([]M) bool) (shown []M, ok bool) {
	ok = s.state.AwaitFor(timeout, func() bool { shown = s.visible(chat); return enough(shown) })
	return shown, ok
}

// WaitForCount waits until a chat shows n messages of the bot, and fails the test after WaitLimit.
func (s Messages[K, M]) WaitForCount(t TB, chat K, n int) []M {
	t.Helper()
	shown, ok := s.AwaitMessages(chat, WaitLimit, func(m []M) bool { return len(m) >= n })
	if !ok {
		t.Fatalf("chat %v shows %d messages after %s, want %d: %q", chat, len(shown), WaitLimit, n, s.texts(shown))
	}
	return shown
}

// WaitForText waits until a chat shows a message of the bot with exactly this text or caption, and
// fails the test after WaitLimit.
func (s Messages[K, M]) WaitForText(t TB, chat K, text string) (found M) {
	t.Helper()
	shown, ok := s.AwaitMessages(chat, WaitLimit, func(all []M) bool {
		i := slices.IndexFunc(all, func(m M) bool { return s.text(m) == text })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		t.Fatalf("chat %v does not show %q after %s; it shows %q", chat, text, WaitLimit, s.texts(shown))
	}
	return found
}

func (s Messages[K, M]) texts(shown []M) []string {
	out := []string{}
	for _, m := range shown {
		out = append(out, s.text(m))
	}
	return out
}
