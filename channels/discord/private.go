package discord

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/markdown"
)

// Error codes of Discord for an interaction that can no longer be answered.
const (
	unknownWebhook      = 10015
	unknownInteraction  = 10062
	invalidWebhookToken = 50027
)

// repeatMark begins a message that may be shown twice.
const repeatMark = "↻ "

// privateRequest is the body of a message that only the user of an interaction sees.
type privateRequest struct {
	Content         string                            `json:"content"`
	Components      []discordgo.MessageComponent      `json:"components,omitempty"`
	AllowedMentions *discordgo.MessageAllowedMentions `json:"allowed_mentions"`
	Flags           discordgo.MessageFlags            `json:"flags,omitempty"`
	Attachments     []attachmentName                  `json:"attachments,omitempty"`
}

// privateResponse returns the interaction that a message answers for the asker only; nil means that
// the message is sent to the channel. All messages of the bot but its progress are private while
// the asker sees that the bot is thinking: otherwise that would stay.
func (c *Channel) privateResponse(ctx context.Context, o channels.Outgoing) *interactionResponse {
	r := c.responses.find(o.ReplyTo)
	if r == nil || !o.Private && (o.Kind == channels.Progress || !r.awaitsContent()) {
		return nil
	}
	if time.Since(r.receivedAt) >= tokenLifetime || !r.await(ctx) {
		return nil
	}
	return r
}

// sendPrivate sends a message to the user of an interaction only. The content of the response is
// set by an edit, which can be repeated. Other messages have no idempotency key: one that may have
// been created is marked when it is repeated.
func (c *Channel) sendPrivate(ctx context.Context, p *outgoingPost) (string, error) {
	r, text := p.private, p.text
	call := messageCall{method: http.MethodPost, url: discordgo.EndpointWebhookToken(r.to.AppID, r.to.Token) +
		"?wait=true"}
	name, flags := followup, discordgo.MessageFlagsEphemeral
	isContent := r.claimContent(p.nonce)
	if isContent { // its flags were set with the response
		call.method, call.url = http.MethodPatch, discordgo.EndpointWebhookMessage(r.to.AppID, r.to.Token, "@original")
		name, flags = editOriginal, 0
	} else if r.isUncertain(p.nonce) && channels.Runes(repeatMark+text) <= textLimit {
		text = repeatMark + text
	}
	call.route = route{name, r.to.AppID + "/" + r.to.Token}
	call.body = func(files []attachmentName) any {
		return privateRequest{
			Content: text, Components: components(p.buttons, p.words), AllowedMentions: noMentions,
			Flags: flags, Attachments: files,
		}
	}
	id, err := c.postMessage(ctx, call, p.files)
	switch {
	case isContent && isUnknownMessage(err): // the asker has dismissed it
		r.loseContent()
		return c.sendPrivate(ctx, p)
	case !isContent && err != nil && httpclient.NewSendError(err).Unknown:
		r.markUncertain(p.nonce)
	}
	return id, err
}

// tellAsker shows a text to the user of an interaction only, if the interaction can still be
// answered.
func (c *Channel) tellAsker(ctx context.Context, u *receivedInteraction, text string) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if time.Since(u.receivedAt) >= tokenLifetime || !u.await(ctx) {
		return
	}
	_, err := c.sendPrivate(ctx, &outgoingPost{
		private: u.interactionResponse, text: write(markdown.Plain(text)), nonce: rand.Text(), words: c.words.For(u.Locale),
	})
	if err != nil {
		c.log.Debug("response to a press not shown", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// isUnanswerable reports whether an interaction can no longer be answered.
func isUnanswerable(err error) bool {
	var apiErr *apiError
	return errors.As(err, &apiErr) && (apiErr.Code == unknownWebhook || apiErr.Code == unknownInteraction ||
		apiErr.Code == invalidWebhookToken)
}
