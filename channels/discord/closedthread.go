package discord

import (
	"context"
	"errors"
	"strings"
	"time"

	"nanobot/channels"
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
