package discord

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
	"nanobot/internal/words"
)

const (
	// maxThreadName is the longest name of a thread, as much as Discord's apps show.
	maxThreadName = 60
	// archiveAfter is after how many minutes without a message a thread is archived. A later
	// message reopens it.
	archiveAfter = 1440
	// threadExists is Discord's error code for a message that already has a thread.
	threadExists = 160004
	threadTries  = 3
)

// opensThread reports whether a message in a channel starts a new thread.
func (c *Channel) opensThread(r channelInfo) bool {
	return c.o.Thread && r.guild != 0 && (r.kind == discordgo.ChannelTypeGuildText ||
		r.kind == discordgo.ChannelTypeGuildNews)
}

// openThread starts a thread at a message and returns it with its ID. If that fails, the
// conversation stays in the channel.
func (c *Channel) openThread(ctx context.Context, m *message, r channelInfo) (channelInfo, snowflake) {
	me := c.guilds.botID()
	r2 := channelInfo{guild: r.guild, parent: m.Channel, owner: me, kind: discordgo.ChannelTypeGuildPublicThread}
	if r.kind == discordgo.ChannelTypeGuildNews {
		r2.kind = discordgo.ChannelTypeGuildNewsThread
	}
	thread := &discordgo.ThreadStart{
		Name:                threadName(c.contentText(m, r), c.words.For(c.guilds.guild(r.guild).language)),
		AutoArchiveDuration: archiveAfter,
	}
	at := route{startThread, m.Channel.String()}
	for try := 1; ; try++ {
		attempt, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.api.call(attempt, at, nil, func(l library) (any, error) {
			return l.MessageThreadStartComplex(at.major, m.ID.String(), thread, l.options...)
		})
		cancel()
		var apiErr *apiError
		if err == nil || errors.As(err, &apiErr) && apiErr.Code == threadExists {
			c.guilds.addChannel(channelObject{ID: m.ID, Type: r2.kind, Guild: r2.guild, Parent: r2.parent, Owner: me})
			c.guilds.setStarter(m.ID, m.Author.ID)
			return r2, m.ID
		}
		if apiErr != nil && apiErr.isPermanent() || try == threadTries ||
			!httpclient.Sleep(ctx, max(time.Second/2, httpclient.RetryAfter(err))) {
			if ctx.Err() == nil {
				c.log.Warn("no thread opened, the conversation stays in the channel", zap.Stringer("id", m.ID), zap.Error(err))
			}
			return r, m.Channel
		}
	}
}

// threadName is the beginning of the text.
func threadName(text string, w words.Words) string {
	name := []rune(strings.Join(strings.Fields(text), " "))
	if len(name) > maxThreadName {
		name = append(name[:maxThreadName-1:maxThreadName-1], '…')
	}
	if len(name) == 0 {
		return w.Text(words.ThreadName)
	}
	return string(name)
}
