package discord

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

const (
	// maxThreadName is how long the name of a thread may be, and what is shown of it anywhere.
	maxThreadName = 60
	// archiveAfter is how many minutes a thread stays in the list after the last word. Who writes
	// in it later brings it back.
	archiveAfter = 1440
	// alreadyThread is what Discord says when a message has a thread already.
	alreadyThread = 160004
	threadTries   = 3
)

// opensThread tells whether what is said in a channel begins a conversation in a thread of its own.
func (c *Channel) opensThread(r room) bool {
	return c.o.Thread && r.guild != 0 && (r.kind == discordgo.ChannelTypeGuildText || r.kind == discordgo.ChannelTypeGuildNews)
}

// openThread begins a thread at a message and returns it, with its id. If that cannot be done the
// conversation stays where it is.
func (c *Channel) openThread(ctx context.Context, m *message, r room) (room, flake) {
	me := c.world.self()
	r2 := room{guild: r.guild, parent: m.Channel, owner: me, kind: discordgo.ChannelTypeGuildPublicThread}
	if r.kind == discordgo.ChannelTypeGuildNews {
		r2.kind = discordgo.ChannelTypeGuildNewsThread
	}
	thread := &discordgo.ThreadStart{Name: threadName(c.spoken(m, r)), AutoArchiveDuration: archiveAfter}
	at := route{startThread, m.Channel.String()}
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.api.call(attempt, at, nil, func(l library) (any, error) {
			return l.MessageThreadStartComplex(at.major, m.ID.String(), thread, l.options...)
		})
		cancel()
		var no *refusal
		if err == nil || errors.As(err, &no) && no.Code == alreadyThread {
			c.world.add(place{ID: m.ID, Type: r2.kind, Guild: r2.guild, Parent: r2.parent, Owner: me})
			return r2, m.ID
		}
		if no != nil && no.final() || try == threadTries || !httpclient.Sleep(ctx, max(time.Second/2, waitOf(err))) {
			if ctx.Err() == nil {
				c.log.Warn("no thread opened, the conversation stays in the channel", zap.Stringer("id", m.ID), zap.Error(err))
			}
			return r, m.Channel
		}
	}
}

// threadName is the beginning of what was said.
func threadName(text string) string {
	name := []rune(strings.Join(strings.Fields(text), " "))
	if len(name) > maxThreadName {
		name = append(name[:maxThreadName-1:maxThreadName-1], '…')
	}
	if len(name) == 0 {
		return "Conversation"
	}
	return string(name)
}
