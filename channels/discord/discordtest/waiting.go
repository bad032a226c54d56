package discordtest

import (
	"cmp"
	"slices"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// WaitLimit bounds the waits that fail the test.
const WaitLimit = fakenet.WaitLimit

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
	s.Lock()
	defer s.Unlock()
	for _, c := range s.changes {
		if channel == "" || c.Channel == channel {
			out = append(out, c)
		}
	}
	return out
}

// TypingCount returns how often the bot has started a typing indicator in a channel.
func (s *Server) TypingCount(channel string) int {
	s.Lock()
	defer s.Unlock()
	return s.channels[channel].typingCount
}

// botMessages implements BotMessages, with those that only one person sees (FlagEphemeral).
func (s *Server) botMessages(channel string) []Message { return s.visibleMessages(channel, true) }

// History returns all messages that a channel shows now, from the bot and from others.
func (s *Server) History(channel string) []Message {
	s.Lock()
	defer s.Unlock()
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
