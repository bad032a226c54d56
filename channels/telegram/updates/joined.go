package updates

import "nanobot/channels"

// pasteUnits is the length from which a text may be the beginning of a longer one: Telegram's apps
// cut a text of more than 4,096 UTF-16 units, and may cut at a word.
const pasteUnits = 4000

// IsOwnText reports whether a message has only text, which its sender has written.
func (m *Message) IsOwnText() bool {
	return m.Text != "" && !m.IsEdit && m.Origin.Value == nil && m.Album() == ""
}

// MayContinue reports whether the next message may be the rest of the same paste.
func (m *Message) MayContinue() bool { return m.IsOwnText() && channels.UTF16(m.Text) >= pasteUnits }

// Follows reports whether a message may belong to a text that its sender wrote just before.
func (m *Message) Follows() bool { return !m.IsEdit && (m.Origin.Value != nil || m.Album() != "") }

// MarkJoined marks the messages of one chat that belong together, in the order of their arrival: a
// text that introduces the forwarded messages or the album after it. People see them as one.
func MarkJoined(messages []*Message) {
	for i := 1; i < len(messages); i++ {
		before, m := messages[i-1], messages[i]
		if before == nil || m == nil || m.IsEdit || before.Sender().ID != m.Sender().ID {
			continue
		}
		introduced := before.IsOwnText() || i > 1 && messages[i-2] != nil && messages[i-2].JoinsNext
		before.JoinsNext = introduced && (m.Origin.Value != nil || m.Album() != "" && m.Album() != before.Album())
	}
}

// Separator returns the text between a message and the one before it in the same incoming message.
func Separator(before, m *Message) string {
	if before.MayContinue() && m.IsOwnText() {
		return ""
	}
	return "\n"
}
