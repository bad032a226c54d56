package discord

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/relocated"
	"nanobot/internal/words"
)

// Error codes of Discord for a channel or thread that accepts no messages.
const (
	unknownChannel = 10003
	threadArchived = 50083 // and locked: a message reopens a thread that is only archived
	threadLocked   = 160005
)

// noticeInterval is how long the parts of an answer share one notice.
const noticeInterval = time.Minute

// leaveThread makes an answer go to the channel of its thread, after the locked or deleted thread
// has refused it. It reports whether the message is to be sent once more. Progress is not shown
// elsewhere.
func (c *Channel) leaveThread(ctx context.Context, p *outgoingPost, err error) bool {
	var apiErr *apiError
	if !errors.As(err, &apiErr) || p.outgoing.Kind == channels.Progress || p.outgoing.Transient {
		return false
	}
	var key words.Key
	switch apiErr.Code {
	case threadArchived, threadLocked:
		key = words.ThreadLocked
	case unknownChannel:
		key = words.ThreadDeleted
	}
	thread := p.channel
	parent := c.guilds.parentOf(thread)
	if key == "" || parent == 0 {
		return false
	}
	notice := p.words.Text(key)
	p.channel, p.replyTo = parent, thread // a thread mostly has the ID of the message that it began with
	now := time.Now()
	if last, ok := c.notices.Swap(thread, now); ok && now.Sub(last.(time.Time)) < noticeInterval {
		return true
	}
	if text := strings.TrimRight(notice+"\n"+p.text, "\n"); channels.Runes(text) <= textLimit {
		p.text = text
		return true
	}
	first := &outgoingPost{outgoing: p.outgoing, channel: parent, text: notice, replyTo: thread, words: p.words}
	first.outgoing.Key += " notice"
	first.outgoing.Text, first.outgoing.Media, first.outgoing.Mention, first.outgoing.Silent = notice, nil, false, true
	first.nonce = messageNonce(first.outgoing)
	_, err = c.sendPost(ctx, first)
	return err == nil
}

// recordRelocated records that a message with buttons was sent outside of its thread, so that a
// press counts as one in the thread, and the message can be edited.
func (c *Channel) recordRelocated(ctx context.Context, p *outgoingPost, message string) {
	if p.channel.String() == p.outgoing.Chat.ID || len(p.buttons) == 0 {
		return
	}
	err := c.relocated.Add(ctx, c.store, relocated.Message{ID: message, Chat: p.outgoing.Chat.ID, In: p.channel.String()})
	if err != nil {
		c.log.Warn("presses of a message outside of its thread will not be understood after a restart",
			zap.Stringer("chat", p.outgoing.Chat), zap.Error(err))
	}
}

// findRelocated returns a message that was sent outside of its thread.
func (c *Channel) findRelocated(ctx context.Context, message string) (relocated.Message, bool) {
	m, found, err := c.relocated.Find(ctx, c.store, message)
	if err != nil {
		c.log.Warn("it is unknown which thread a message belongs to", zap.Error(err))
	}
	return m, found
}

// channelOf returns the channel that has a message of a chat.
func (c *Channel) channelOf(ctx context.Context, chat channels.Chat, message string) string {
	if m, found := c.findRelocated(ctx, message); found && m.Chat == chat.ID {
		return m.In
	}
	return chat.ID
}
