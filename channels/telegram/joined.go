package telegram

import (
	"slices"
	"strings"
	"time"

	"nanobot/channels"
)

// pasteUnits is the length from which a text may be the beginning of a longer one: Telegram's apps
// cut a text of more than 4,096 UTF-16 units, and may cut at a word.
const pasteUnits = 4000

// maxPastePieces and maxPasteUnits bound a paste: what follows is another message.
const maxPastePieces, maxPasteUnits = 10, 40_000

// isOwnText reports whether a message has only text, which its sender has written.
func (m *message) isOwnText() bool {
	return m.Text != "" && !m.isEdit && m.Origin.value == nil && m.album() == ""
}

// mayContinue reports whether the next message may be the rest of the same paste.
func (m *message) mayContinue() bool { return m.isOwnText() && channels.UTF16(m.Text) >= pasteUnits }

// follows reports whether a message may belong to a text that its sender wrote just before.
func (m *message) follows() bool { return !m.isEdit && (m.Origin.value != nil || m.album() != "") }

// markJoined marks the messages of one chat that belong together, in the order of their arrival: a
// text that introduces the forwarded messages or the album after it. People see them as one.
func markJoined(messages []*message) {
	for i := 1; i < len(messages); i++ {
		before, m := messages[i-1], messages[i]
		if before == nil || m == nil || m.isEdit || sender(before).ID != sender(m).ID {
			continue
		}
		introduced := before.isOwnText() || i > 1 && messages[i-2] != nil && messages[i-2].joinsNext
		before.joinsNext = introduced && (m.Origin.value != nil || m.album() != "" && m.album() != before.album())
	}
}

// separator returns the text between a message and the one before it in the same incoming message.
func separator(before, m *message) string {
	if before.mayContinue() && m.isOwnText() {
		return ""
	}
	return "\n"
}

// accepts reports whether a message is another part of this one: of the same album, or joined to
// the last part. isLast says that no other message of the chat is pending after this one.
func (p *pendingMessage) accepts(m *message, isLast bool) bool {
	if p.closed || m.isEdit || len(p.messages) == 0 {
		return false
	}
	if album := m.album(); album != "" && slices.ContainsFunc(p.messages, func(o *message) bool { return o.album() == album }) {
		return p.albumParts()+p.storing < maxAlbum
	}
	last := p.messages[len(p.messages)-1]
	if !isLast || p.storing > 0 || p.superseded || sender(last).ID != sender(m).ID {
		return false
	}
	return last.joinsNext && (m.Origin.value != nil || m.album() != "") || last.mayContinue() && m.isOwnText() && p.canGrow(channels.UTF16(m.Text))
}

// canGrow reports whether a paste may have another piece with a number of UTF-16 units.
func (p *pendingMessage) canGrow(units int) bool {
	for _, m := range p.messages {
		units += channels.UTF16(m.Text)
	}
	return len(p.messages) < maxPastePieces && units <= maxPasteUnits
}

// awaitsMore reports whether further parts may arrive.
func (p *pendingMessage) awaitsMore() bool {
	last := p.messages[len(p.messages)-1]
	return last.joinsNext || last.mayContinue() && p.canGrow(1) || last.album() != "" && p.albumParts() < maxAlbum
}

// albumParts counts the parts of an album.
func (p *pendingMessage) albumParts() (n int) {
	for _, m := range p.messages {
		if m.album() != "" {
			n++
		}
	}
	return n
}

// continuesPending reports whether a message is a part of a message that is pending, so that it
// need not address the bot itself.
func (in *receiver) continuesPending(u *update) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	q := in.chats[u.chat()]
	if q == nil || len(q.pending) == 0 {
		return false
	}
	return q.pending[len(q.pending)-1].accepts(u.Message, true)
}

// mayIntroduce reports whether a webhook waits for messages that belong to this one: it is a text
// that its sender has written, or it was joined to one. Not all messages can wait when very many
// arrive.
func (in *receiver) mayIntroduce(u *update) bool {
	in.mu.Lock()
	full := in.pendingCount >= maxPendingWebhook/2
	in.mu.Unlock()
	if full || in.c.o.Timing.Comment < 0 {
		return false
	}
	m := u.Message
	return m.isOwnText() && !strings.HasPrefix(in.c.contentText(m), "/") || m.Origin.value != nil && in.continuesPending(u)
}

// supersedePending ends the wait of a person's messages in a chat for further parts, because of a
// command or a button. It reports whether the command may overtake the messages that are pending in
// the chat: none is the person's, or they take time, because files are being downloaded.
func (in *receiver) supersedePending(q *chatQueue, by channels.User) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	q.supersede(by)
	hasFiles := func(p *pendingMessage) bool { return slices.ContainsFunc(p.messages, (*message).hasFiles) }
	isOwn := func(p *pendingMessage) bool { return sender(p.messages[0]).ID == by.ID }
	return !slices.ContainsFunc(q.pending, isOwn) || slices.ContainsFunc(q.pending, hasFiles)
}

// supersede ends the wait of a person's messages for further ones, except that of an album, whose
// parts may arrive between other messages. The caller holds receiver.mu.
func (q *chatQueue) supersede(by channels.User) {
	for _, p := range q.pending {
		if last := p.messages[len(p.messages)-1]; !p.closed && sender(last).ID == by.ID && last.album() == "" {
			p.superseded = true
			p.recheck()
		}
	}
}

// senderKey is a person in a chat.
type senderKey struct{ chat, user string }

// followTime is how long after a text to the bot a forwarded message or an album of the same person
// in the group is for the bot, too, although it does not mention the bot.
const followTime = time.Second

// recordAddressed records that a person has written a text to the bot in a group.
func (in *receiver) recordAddressed(u *update) {
	if !u.Message.isGroup() || !u.Message.isOwnText() {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for key, at := range in.addressed {
		if time.Since(at) > followTime {
			delete(in.addressed, key)
		}
	}
	in.addressed[senderKey{u.chat(), sender(u.Message).ID}] = time.Now()
}

// followsAddressed reports whether a message belongs to a text to the bot, so that it need not
// address the bot itself.
func (in *receiver) followsAddressed(u *update) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return u.Message.follows() && in.hasAddressed(u)
}

// hasAddressed reports whether the sender of a message has just written a text to the bot. The
// caller holds receiver.mu.
func (in *receiver) hasAddressed(u *update) bool {
	at, ok := in.addressed[senderKey{u.chat(), sender(u.Message).ID}]
	return ok && time.Since(at) <= followTime
}
