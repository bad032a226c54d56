package discord

import (
	"fmt"
	"slices"
	"strings"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/internal/words"
)

const (
	// textLimit is the longest text of a message, in code points.
	textLimit = 2000
	// maxTextMessages is how many messages a text may fill before it becomes a document.
	maxTextMessages = 5
	// maxFiles is how many files a message can have.
	maxFiles = 10
	// baseUploadLimit is the upload limit of every chat: files of this total size share a message.
	baseUploadLimit = 10 << 20
	// maxUploadLimit is the highest upload limit of any guild.
	maxUploadLimit = 100 << 20
	// maxButtonData is the longest data of a button, in bytes.
	maxButtonData = 100
)

// Plan renders a message and splits it into calls: texts, or a document with its beginning if there
// would be too many texts, and files, ten per message. Files that no guild accepts are replaced by
// a notice.
func (c *Channel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	m = channels.SanitizeBidi(m)
	w := c.words.For(m.Language)
	if parseSnowflake(m.Chat.ID) == 0 {
		return nil, fmt.Errorf("%q is not a Discord chat", m.Chat.ID)
	}
	if m.Details != "" && m.DetailsPress != "" { // Discord cannot fold text
		m.Buttons = append(slices.Clone(m.Buttons),
			channels.Button{Label: w.Text(words.ButtonDetails), Data: m.DetailsPress, Stays: true, Private: true})
	}
	if err := channels.CheckButtons(m.Buttons, maxButtonData); err != nil {
		return nil, err
	}
	if !isReply(m) {
		m.ShowQuote()
	}
	var out []channels.Outgoing
	for _, p := range splitMessage(m, w) {
		out = append(out, channels.Outgoing{
			Chat: m.Chat, Kind: m.Kind, Code: m.Code, Text: p.text, Media: p.files,
			Language: m.Language, Notification: m.Notification,
		})
	}
	if len(out) == 0 {
		return nil, nil
	}
	replyTo(out, m)
	out[len(out)-1].Buttons = slices.Clone(m.Buttons)
	return out, nil
}

// replyTo sets the message that the calls reply to. The first one replies; all private ones answer
// the interaction. A reply also mentions the asker. The answer to a command or in the asker's own
// thread needs a mention in the text, for which the last text has room.
func replyTo(out []channels.Outgoing, m channels.Message) {
	last := len(out) - 1
	if isReply(m) {
		out[0].ReplyTo = m.ReplyTo
	}
	for i := range out {
		out[i].Mention = false
		if m.Private && interactionNumber(m.ReplyTo) != 0 {
			out[i].ReplyTo = m.ReplyTo
		}
	}
	switch {
	case !m.Mention || !isReference(m.ReplyTo):
	case m.ReplyTo == m.Chat.ID || interactionNumber(m.ReplyTo) != 0:
		out[last].Mention, out[last].ReplyTo = true, m.ReplyTo
	default:
		out[0].Mention = true
	}
	notifyOnce(out)
}

// isReply reports whether a message is shown as a reply. The first message of a thread is shown
// above the thread anyway.
func isReply(m channels.Message) bool { return m.ReplyTo != m.Chat.ID && isReference(m.ReplyTo) }

// notifyOnce lets one message of an answer notify people: the one that mentions the asker, else the
// last.
func notifyOnce(out []channels.Outgoing) {
	notifies := len(out) - 1
	if out[0].Mention {
		notifies = 0
	}
	for i := range out {
		out[i].Silent = out[i].Silent || i != notifies
	}
}

// isReference reports whether an ID is that of a message or of a use of a command.
func isReference(id string) bool {
	return parseSnowflake(strings.TrimPrefix(id, commandPrefix)) != 0
}

// messagePart is the content of one call.
type messagePart struct {
	text  string
	files []channels.File
}

// splitMessage returns the parts of a message: the text, then the files. The last text shares a
// message with the first files.
func splitMessage(m channels.Message, w words.Words) []messagePart {
	if m.Screen != nil {
		return splitScreen(m, w)
	}
	files, refused := channels.DropOversized(m.Media, maxUploadLimit, describeLimit(w, maxUploadLimit), w)
	texts, doc := renderText(m.Text, m.Format, w)
	var parts []messagePart
	for _, t := range texts {
		parts = append(parts, messagePart{text: t})
	}
	if doc != nil {
		parts[0].files = []channels.File{*doc}
	}
	if len(refused) > 0 {
		parts = appendNotice(parts, strings.Join(refused, "\n"))
	}
	groups := channels.GroupFiles(files, maxFiles, baseUploadLimit)
	if n := len(parts); n > 0 && len(groups) > 0 && len(parts[n-1].files) == 0 {
		parts[n-1].files = groups[0]
		groups = groups[1:]
	}
	for _, g := range groups {
		parts = append(parts, messagePart{files: g})
	}
	return parts
}

// appendNotice adds a notice to the last part if it fits, otherwise as new parts.
func appendNotice(parts []messagePart, notice string) []messagePart {
	texts := split(markdown.Plain(notice), textLimit)
	if n := len(parts); n > 0 && len(texts) == 1 && channels.Runes(parts[n-1].text)+1+
		channels.Runes(texts[0]) <= textLimit {
		parts[n-1].text += "\n" + texts[0]
		return parts
	}
	for _, t := range texts {
		parts = append(parts, messagePart{text: t})
	}
	return parts
}

// renderText renders a text in a format as the texts of messages. One that is too long for
// maxTextMessages is returned as a document, with its beginning.
func renderText(source string, format channels.Format, w words.Words) ([]string, *channels.File) {
	if strings.TrimSpace(source) == "" {
		return nil, nil
	}
	// A text that cannot fit is not even parsed.
	if len(source) <= 16*maxTextMessages*textLimit {
		if parts := split(layout.As(format).Text(source), textLimit); len(parts) <= maxTextMessages {
			return parts, nil
		}
	}
	return []string{write(layout.As(format).Beginning(source, textLimit/4, cost, w))}, markdown.Document(source, format)
}

// FileLimit is the upload limit of the chat's guild. Where the guild is not known yet, Send finds
// out.
func (c *Channel) FileLimit(chat channels.Chat, language string) (limit int64, phrase string) {
	id := parseSnowflake(chat.ID)
	if limit = maxUploadLimit; c.guilds.knowsGuildOf(id) {
		limit = c.guilds.uploadLimit(id)
	}
	return limit, describeLimit(c.words.For(language), limit)
}

func describeLimit(w words.Words, limit int64) string {
	return w.Text(words.LimitOfDiscord, limit>>20)
}
