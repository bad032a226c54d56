package telegram

import (
	"slices"

	"nanobot/channels"
)

// pasteUnits is the length from which a text may be the beginning of a longer one: Telegram's apps
// cut a text of more than 4,096 UTF-16 units, and may cut at a word.
const pasteUnits = 4000

// isOwnText reports whether a message has only text, which its sender has written.
func (m *message) isOwnText() bool {
	return m.Text != "" && !m.isEdit && m.Origin.value == nil
}

// mayContinue reports whether the next message may be the rest of the same paste.
func (m *message) mayContinue() bool { return m.isOwnText() && channels.UTF16(m.Text) >= pasteUnits }

// markJoined marks the messages of one chat that belong together, in the order of their arrival: a
// text that introduces the forwarded messages or the album after it. People see them as one.
func markJoined(messages []*message) {
	for i := 1; i < len(messages); i++ {
		before, m := messages[i-1], messages[i]
		if before == nil || m == nil || m.isEdit || sender(before) != sender(m) {
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
	if !isLast || p.storing > 0 || sender(last) != sender(m) {
		return false
	}
	return last.joinsNext && (m.Origin.value != nil || m.album() != "") || last.mayContinue() && m.isOwnText()
}

// awaitsMore reports whether further parts may arrive.
func (p *pendingMessage) awaitsMore() bool {
	last := p.messages[len(p.messages)-1]
	return last.joinsNext || last.mayContinue() || last.album() != "" && p.albumParts() < maxAlbum
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
