package discord

import (
	"context"

	"github.com/bwmarrin/discordgo"
)

// hear takes in a message that is said now.
func (in *intake) hear(ctx context.Context, m *message) {
	in.m.newest = max(in.m.newest, m.ID)
	if !isSpoken(m) {
		return
	}
	in.c.world.open(m.Channel) // Discord does not tell when a role lets us in
	if _, ok := in.c.world.room(m.Channel); !ok {
		if m.Guild == 0 { // of a direct conversation we may have missed what came before
			in.recall(m.Channel, false, in.from)
		} else { // a thread that we have not heard of
			in.recall(m.Channel, true, m.ID-1)
		}
	}
	if l := in.lines[m.Channel]; l != nil && l.past != nil {
		l.hold(&entry{message: m})
		return
	}
	in.take(ctx, m)
}

// take puts a message into the line of its chat, if it is for us and was not taken in before.
func (in *intake) take(ctx context.Context, m *message) {
	r, ok := in.c.world.room(m.Channel)
	if !ok {
		r = room{guild: m.Guild}
	}
	if !in.c.forUs(m, r) || !in.m.see(m.ID) {
		return
	}
	at := m.Channel
	switch {
	case in.c.opensThread(r):
		at = m.ID // a thread has the id of the message that it begins with
		in.m.talked(chat{at, true})
	case r.guild == 0 || isThread(r.kind):
		in.m.talked(chat{at, r.guild != 0})
	}
	e := in.newEntry()
	e.message, e.room = m, r
	l := in.line(at)
	l.queue = append(l.queue, e)
	in.prepare(ctx, e)
}

// prepare completes an entry, at the side if that takes time.
func (in *intake) prepare(ctx context.Context, e *entry) {
	if !in.c.opensThread(e.room) && !in.c.hasFiles(e.message) {
		e.in = in.c.incoming(ctx, e.message, e.room, e.message.Channel)
		close(e.ready)
		return
	}
	in.aside(ctx, func() func() {
		r, at := e.room, e.message.Channel
		if in.c.opensThread(r) {
			r, at = in.c.openThread(ctx, e.message, r)
		}
		e.in = in.c.incoming(ctx, e.message, r, at)
		if ctx.Err() != nil { // something may be missing only because we are told to end
			return nil
		}
		close(e.ready)
		return func() {}
	})
}

// isSpoken tells whether a message is something that a person said, and not that somebody came or
// pinned something.
func isSpoken(m *message) bool {
	switch m.Type {
	case discordgo.MessageTypeDefault, discordgo.MessageTypeReply:
		return !m.Author.Bot && m.Webhook == 0 && m.Author.ID != 0
	default:
		return false
	}
}
