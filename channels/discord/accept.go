package discord

import (
	"context"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/internal/words"
)

// handleMessage processes a MESSAGE_CREATE event. While the history of the chat is being searched,
// the message waits behind the search.
func (in *receiver) handleMessage(ctx context.Context, m *message) {
	in.state.newestMessage = max(in.state.newestMessage, m.ID)
	if !isUserMessage(m) {
		return
	}
	in.c.guilds.setUnreadable(m.Channel, false) // Discord does not report when a role grants access
	if _, ok := in.c.guilds.channel(m.Channel); !ok {
		if m.Guild == 0 { // earlier direct messages may have been missed
			in.startHistorySearch(m.Channel, false, in.missedSince)
		} else { // a thread that is not in the cache
			in.startHistorySearch(m.Channel, true, m.ID-1)
		}
	}
	in.refuseUnreadable(ctx, m)
	if q := in.queues[m.Channel]; q != nil && q.history != nil {
		q.add(&entry{message: m})
		return
	}
	in.acceptMessage(ctx, m)
}

// refuseUnreadable tells a person who has written to the bot that a kind of message cannot be read.
// A failure is not retried.
func (in *receiver) refuseUnreadable(ctx context.Context, m *message) {
	r := in.c.guilds.channelWith(m)
	isAddressed := r.guild == 0 || in.c.o.Groups != "off" && in.c.addressesBot(m, r)
	if !m.isEmpty() || !isAddressed || !in.c.isAdmitted(m.Author) {
		return
	}
	in.runInBackground(ctx, func() func() {
		_, err := in.c.Send(ctx, channels.Outgoing{
			Chat: in.c.chat(m.Channel.String()), Kind: channels.Failure, ReplyTo: m.ID.String(),
			Text: in.c.words.For("").Text(words.UnreadableKind), Notification: channels.Notification{Silent: true},
			Key: "unreadable " + m.ID.String(), // Discord may repeat the event
		})
		if err != nil && ctx.Err() == nil {
			in.c.log.Warn("sender not told that a message cannot be read", zap.Error(err))
		}
		return nil
	})
}

// acceptMessage appends a message to the queue of its chat, if it is for the bot and was not
// accepted before.
func (in *receiver) acceptMessage(ctx context.Context, m *message) {
	r := in.c.guilds.channelWith(m)
	if !in.c.isForBot(m, r) || !in.state.markAccepted(m.ID) {
		return
	}
	at := m.Channel
	switch {
	case in.c.opensThread(r):
		at = m.ID // a thread has the ID of its first message
		in.state.touchChat(chat{at, true})
	case r.guild == 0 || isThread(r.kind):
		in.state.touchChat(chat{at, r.guild != 0})
	}
	e := &entry{message: m, chatsVersion: in.state.chatsVersion}
	q := in.queueOf(at)
	q.entries = append(q.entries, e)
	opens := in.c.opensThread(r)
	in.prepare(ctx, e, opens || in.c.hasFiles(m), func() {
		at := m.Channel
		if opens {
			r, at = in.c.openThread(ctx, m, r)
		}
		e.incoming = in.c.newIncoming(ctx, m, r, at)
	})
}

// prepare completes the incoming message of an entry: in the background if that is slow.
func (in *receiver) prepare(ctx context.Context, e *entry, slow bool, complete func()) {
	if !slow {
		complete()
		e.ready = true
		return
	}
	in.runInBackground(ctx, func() func() {
		complete()
		if ctx.Err() != nil { // a file may be missing only because of the shutdown
			return nil
		}
		return func() { e.ready = true }
	})
}

// isUserMessage reports whether a message was written by a person. Joins, pins, bots and webhooks
// are excluded.
func isUserMessage(m *message) bool {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply:
		return !m.Author.Bot && m.Webhook == 0 && m.Author.ID != 0
	default:
		return false
	}
}
