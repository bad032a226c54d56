package receiving

import (
	"slices"
	"time"

	"nanobot/channels"
	"nanobot/channels/telegram/updates"
)

// maxPastePieces and maxPasteUnits bound a paste: what follows is another message.
const maxPastePieces, maxPasteUnits = 10, 40_000

// accepts reports whether a message is another part of this one: of the same album, or joined to
// the last part. isLast says that no other message of the chat is pending after this one.
func (p *pendingMessage) accepts(m *updates.Message, isLast bool) bool {
	if p.closed || m.IsEdit || len(p.messages) == 0 {
		return false
	}
	if album := m.Album(); album != "" && slices.ContainsFunc(p.messages,
		func(o *updates.Message) bool { return o.Album() == album }) {
		return p.albumParts()+p.storing < maxAlbum
	}
	last := p.messages[len(p.messages)-1]
	if !isLast || p.storing > 0 || p.superseded || last.Sender().ID != m.Sender().ID {
		return false
	}
	return last.JoinsNext && (m.Origin.Value != nil || m.Album() != "") || last.MayContinue() && m.IsOwnText() &&
		p.canGrow(channels.UTF16(m.Text))
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
	return last.JoinsNext || last.MayContinue() && p.canGrow(1) || last.Album() != "" && p.albumParts() < maxAlbum
}

// albumParts counts the parts of an album.
func (p *pendingMessage) albumParts() (n int) {
	for _, m := range p.messages {
		if m.Album() != "" {
			n++
		}
	}
	return n
}

// continues reports whether a message is a part of a message that is pending, so that it need not
// address the bot itself.
func (a *pendingQueues) continues(u *updates.Update) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.chats[u.ChatID()]
	if q == nil || len(q.pending) == 0 {
		return false
	}
	return q.pending[len(q.pending)-1].accepts(u.Message, true)
}

// supersede ends the wait of a person's messages in a chat for further parts, because of a command
// or a button. It reports whether the command may overtake the messages that are pending in the
// chat: none is the person's, or they take time, because files are being downloaded.
func (a *pendingQueues) supersede(q *chatQueue, by channels.User) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.supersede(by)
	hasFiles := func(p *pendingMessage) bool { return slices.ContainsFunc(p.messages, (*updates.Message).HasFiles) }
	isOwn := func(p *pendingMessage) bool { return p.messages[0].Sender().ID == by.ID }
	return !slices.ContainsFunc(q.pending, isOwn) || slices.ContainsFunc(q.pending, hasFiles)
}

// supersede ends the wait of a person's messages for further ones, except that of an album, whose
// parts may arrive between other messages. The caller holds pendingQueues.mu.
func (q *chatQueue) supersede(by channels.User) {
	for _, p := range q.pending {
		if p.closed || p.superseded {
			continue
		}
		if last := p.messages[len(p.messages)-1]; last.Sender().ID == by.ID && last.Album() == "" {
			p.superseded = true
			p.recheck()
		}
	}
}

// senderKey is a person in a chat.
type senderKey struct{ chat, user string }

// recordAddressed records that a person has written a text to the bot in a group.
func (a *pendingQueues) recordAddressed(u *updates.Update) {
	if !u.Message.IsGroup() || !u.Message.IsOwnText() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, at := range a.addressed {
		if time.Since(at) > a.timing.Follow {
			delete(a.addressed, key)
		}
	}
	a.addressed[senderKey{u.ChatID(), u.Message.Sender().ID}] = time.Now()
}

// followsAddressed reports whether a message belongs to a text to the bot, so that it need not
// address the bot itself.
func (a *pendingQueues) followsAddressed(u *updates.Update) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return u.Message.Follows() && a.hasAddressed(u)
}

// hasAddressed reports whether the sender of a message has just written a text to the bot. The
// caller holds pendingQueues.mu.
func (a *pendingQueues) hasAddressed(u *updates.Update) bool {
	at, ok := a.addressed[senderKey{u.ChatID(), u.Message.Sender().ID}]
	return ok && time.Since(at) <= a.timing.Follow
}
