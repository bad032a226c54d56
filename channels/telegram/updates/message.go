package updates

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/go-telegram/bot/models"

	"nanobot/channels"
	"nanobot/channels/telegram/chats"
)

// Address returns the chat of a message, and in a forum its topic.
func (m *Message) Address() chats.Address {
	p := chats.Address{Chat: cmp.Or(m.OriginalChat, m.Chat.ID)}
	if m.IsTopic { // a reply thread in a group without topics is not a chat of its own
		p.Thread = m.Thread
	}
	return p
}

// SetOriginalChat sets the chat of a message, and of the messages that it replies to, to the one
// that it was stored with.
func (m *Message) SetOriginalChat(chat string) {
	at, err := chats.ParseAddress(chat)
	if err != nil {
		return
	}
	for ; m != nil; m = m.ReplyTo {
		if m.Chat.ID != at.Chat {
			m.OriginalChat = at.Chat
		}
	}
}

// Migration returns the migration in a service message. Both the group and the supergroup receive
// one.
func (m *Message) Migration() (from, to int64, ok bool) {
	switch {
	case m.MigrateTo != 0:
		return m.Chat.ID, m.MigrateTo, true
	case m.MigrateFrom != 0:
		return m.MigrateFrom, m.Chat.ID, true
	}
	return 0, 0, false
}

// Album returns the ID of the album that a message is a part of, or "". The edit of a part changes
// only the caption.
func (m *Message) Album() string {
	if m.IsEdit {
		return ""
	}
	return m.Group
}

// IsEditOfState reports whether an edit has changed a live location or a poll, which is no edit by
// a person.
func (m *Message) IsEditOfState() bool { return m.IsEdit && (m.Location != nil || m.Poll != nil) }

// HasFiles reports whether a message has files to download.
func (m *Message) HasFiles() bool {
	return m.DownloadableFile() != nil || m.Quoted() != nil && m.Quoted().AttachedFile() != nil
}

// GatewayID is the ID of a message for the gateway, without a bot prefix.
func (m *Message) GatewayID() string { return chats.MessageID(m.Address().Chat, m.Chat.ID, m.ID) }

// IsGroup reports whether a message is from a group or supergroup.
func (m *Message) IsGroup() bool {
	return m.Chat.Type == models.ChatTypeGroup || m.Chat.Type == models.ChatTypeSupergroup
}

// RepliedTo returns the message that this one replies to, or nil. In a topic, a message that
// replies to nothing seems to reply to the message that created the topic.
func (m *Message) RepliedTo() *Message {
	if m.ReplyTo == nil || m.ReplyTo.TopicCreated != nil || m.IsTopic && m.ReplyTo.ID == m.Thread {
		return nil
	}
	return m.ReplyTo
}

// DownloadableFile returns the message's file to download, or nil.
func (m *Message) DownloadableFile() *File {
	if m.IsEdit && m.Group != "" {
		return nil
	}
	return m.AttachedFile()
}

// AttachedFile returns the message's file, or nil.
func (m *Message) AttachedFile() *File {
	if len(m.Photo) > 0 {
		largest := m.Photo[0]
		for _, p := range m.Photo[1:] {
			if p.Width*p.Height >= largest.Width*largest.Height {
				largest = p
			}
		}
		largest.Kind, largest.ext = "photo", ".jpg"
		return &largest
	}
	for _, one := range []struct {
		file      *File
		kind, ext string
	}{
		{m.Video, "video", ".mp4"},
		{m.Animation, "animation", ".mp4"}, // before document: an animation is both
		{m.Audio, "audio", ".mp3"},
		{m.Voice, "voice", ".ogg"},
		{m.VideoNote, "video note", ".mp4"},
		{m.Document, "document", ""},
		{m.Sticker, "sticker", stickerExt(m.Sticker)},
	} {
		if one.file != nil {
			f := *one.file
			f.Kind, f.ext = one.kind, one.ext
			return &f
		}
	}
	return nil
}

func stickerExt(f *File) string {
	switch {
	case f == nil:
		return ""
	case f.IsAnimated:
		return ".tgs"
	case f.IsVideo:
		return ".webm"
	}
	return ".webp"
}

// DisplayName returns the name of a file: the sender's, or its kind with the extension of the
// stored file.
func (f *File) DisplayName(stored string) string {
	if f.Name != "" {
		return f.Name
	}
	ext := path.Ext(stored)
	if ext == "" || ext == ".oga" { // Telegram's extension of voice messages, which few programs know
		ext = f.ext
	}
	return f.Kind + ext
}

// TextAndEntities returns the text or the caption of a message.
func (m *Message) TextAndEntities() (string, []Entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionMarks
}

// DescribeExtras returns a contact, location, dice, poll, checklist or sticker as text.
func (m *Message) DescribeExtras() string {
	switch {
	case m.Contact != nil:
		c := m.Contact
		return fmt.Sprintf("Contact: %s, %s", strings.TrimSpace(c.FirstName+" "+c.LastName), c.PhoneNumber)
	case m.Venue != nil: // before location: a venue is both
		v := m.Venue
		return fmt.Sprintf("Place: %s, %s (%v, %v)", v.Title, v.Address, v.Location.Latitude, v.Location.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("Location: %v, %v", m.Location.Latitude, m.Location.Longitude)
	case m.Dice != nil:
		return fmt.Sprintf("%s %d", m.Dice.Emoji, m.Dice.Value)
	case m.Poll != nil:
		lines := []string{"Poll: " + m.Poll.Question}
		for _, o := range m.Poll.Options {
			lines = append(lines, "- "+o.Text)
		}
		return strings.Join(lines, "\n")
	case m.Checklist.Value != nil:
		lines := []string{"Checklist: " + m.Checklist.Value.Title}
		for _, task := range m.Checklist.Value.Tasks {
			box := "[ ] "
			if task.CompletedAt > 0 {
				box = "[x] "
			}
			lines = append(lines, "- "+box+task.Text)
		}
		return strings.Join(lines, "\n")
	case m.Sticker != nil:
		return m.Sticker.Emoji
	}
	return ""
}

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
