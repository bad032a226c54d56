package discord

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

// Edit replaces the text and the buttons of a message. Files of o are ignored.
func (c *Channel) Edit(ctx context.Context, id string, o channels.Outgoing) error {
	if err := checkMessage(o.Chat, id); err != nil {
		return err
	}
	rows := components(o.Buttons, c.words.For(o.Language))
	if rows == nil {
		rows = []discordgo.MessageComponent{} // removes the buttons; nil would keep them
	}
	err := c.api.editMessage(ctx, &discordgo.MessageEdit{
		Channel: c.channelOf(ctx, o.Chat, id), ID: id, Content: &o.Text,
		AllowedMentions: noMentions, Components: &rows,
	})
	if isUnknownMessage(err) {
		return &channels.SendError{Err: fmt.Errorf("%w: %w", channels.ErrGone, err), Permanent: true}
	}
	return httpclient.SendError(err)
}

func (a *api) editMessage(ctx context.Context, m *discordgo.MessageEdit) error {
	return a.call(ctx, route{editMessage, m.Channel}, nil,
		func(l library) (any, error) { return l.ChannelMessageEditComplex(m, l.options...) })
}

// Replace edits a message. Discord's edits are permanent.
func (c *Channel) Replace(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error) {
	return channels.Receipt{ID: id}, c.Edit(ctx, id, o)
}

// Remove deletes a message.
func (c *Channel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	if err := checkMessage(chat, id); err != nil {
		return err
	}
	in := c.channelOf(ctx, chat, id)
	err := c.api.call(ctx, route{deleteMessage, in}, nil, func(l library) (any, error) {
		return nil, l.ChannelMessageDelete(in, id, l.options...)
	})
	if isUnknownMessage(err) {
		return nil
	}
	return httpclient.SendError(err)
}

// checkMessage returns an error for an ID that cannot be a message of Discord.
func checkMessage(chat channels.Chat, id string) error {
	if parseSnowflake(chat.ID) == 0 || parseSnowflake(id) == 0 {
		return &channels.SendError{Err: fmt.Errorf("%q in %q is not a Discord message", id, chat.ID), Permanent: true}
	}
	return nil
}

// CloseIdleConnections closes the connections that no call uses.
func (c *Channel) CloseIdleConnections() { c.api.http.CloseIdleConnections() }

// Typing shows for about ten seconds that the bot is typing. It does nothing while the rate limit
// of the chat is exhausted.
func (c *Channel) Typing(ctx context.Context, chat channels.Chat) error {
	if parseSnowflake(chat.ID) == 0 {
		return fmt.Errorf("%q is not a Discord chat", chat.ID)
	}
	r := route{startTyping, chat.ID}
	if c.api.limits.mustWait(r) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.api.call(ctx, r, nil, func(l library) (any, error) { return nil, l.ChannelTyping(chat.ID, l.options...) })
}
