package gateway

import (
	"context"

	"nanobot/channels"
	"nanobot/gateway/outbox"
)

// note sends the gateway's own words to a chat.
func (g *Gateway) note(ctx context.Context, in channels.Incoming, text string, buttons ...channels.Button) error {
	m := channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: text, ReplyTo: in.ID, Buttons: buttons}
	return g.outbox.Post(ctx, &outbox.Message{Message: m})
}
