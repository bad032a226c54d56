package telegramtest

import (
	"slices"

	"nanobot/channels/channelstest/fakenet"
)

// WaitLimit bounds the waits that fail the test.
const WaitLimit = fakenet.WaitLimit

// visibleMessages implements BotMessages. Messages of all chats are in the order of their calls.
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
	s.Lock()
	defer s.Unlock()
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
