package discord

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/channels/markdown"
	"nanobot/internal/words"
)

// messageRequest is the body of a create-message call. The library's type lacks the nonce, and
// cannot describe files that are uploaded without the library.
type messageRequest struct {
	discordgo.MessageSend
	Nonce        string           `json:"nonce"`
	EnforceNonce bool             `json:"enforce_nonce"`
	Attachments  []attachmentName `json:"attachments,omitempty"`
}

// messageCall is a call that creates or edits a message. body returns its body with the names of
// the uploaded files.
type messageCall struct {
	route       route
	method, url string
	body        func(files []attachmentName) any
}

// messageResponse is the part of a create-message response that is used.
type messageResponse struct {
	ID snowflake `json:"id"`
}

// noMentions prevents notifications for users and roles that an agent's text mentions.
var noMentions = &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}

// outgoingPost is one message being sent: as planned, with the changes that Discord's errors made
// necessary.
type outgoingPost struct {
	outgoing channels.Outgoing
	channel  snowflake
	text     string
	files    []channels.File
	buttons  []channels.Button
	replyTo  snowflake
	private  *interactionResponse // nil: everybody in the chat sees the message
	nonce    string
	words    words.Words
}

// Send makes one call. If Discord refuses only a file, the reference or the buttons, Send repeats
// the call without that part. All attempts carry the same nonce.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	to := parseSnowflake(o.Chat.ID)
	if to == 0 {
		return channels.Receipt{}, &channels.SendError{
			Err:       fmt.Errorf("%q is not a Discord chat", o.Chat.ID),
			Permanent: true,
		}
	}
	p := &outgoingPost{
		outgoing: o, channel: to, text: o.Text, buttons: o.Buttons, nonce: messageNonce(o),
		words: c.words.For(o.Language),
	}
	if o.ReplyTo != "" {
		p.private = c.privateResponse(ctx, o)
		p.replyTo = c.referencedMessage(ctx, o)
	}
	limit := c.guilds.uploadLimit(to)
	var refused []string
	p.files, refused = channels.DropOversized(o.Media, limit, describeLimit(p.words, limit), p.words)
	for _, notice := range refused {
		p.appendLine(notice)
	}
	for {
		send := c.sendPost
		if p.private != nil {
			send = c.sendPrivate
		}
		id, err := send(ctx, p)
		if err == nil {
			c.recordRelocated(ctx, p, id)
			return channels.Receipt{ID: id}, nil
		}
		if !p.dropRefusedPart(err) && !c.leaveThread(ctx, p, err) {
			return channels.Receipt{}, httpclient.SendError(err)
		}
		c.log.Warn("not sent as planned", zap.Stringer("chat", o.Chat), zap.Error(err))
	}
}

// referencedMessage returns the message that a message replies to: the message itself, or the one
// that shows the use of a command. 0 means that it is unknown, no longer remembered, or shown to
// the asker only.
func (c *Channel) referencedMessage(ctx context.Context, o channels.Outgoing) snowflake {
	if o.ReplyTo == o.Chat.ID { // the first message of a thread is in another channel
		return 0
	}
	if interactionNumber(o.ReplyTo) == 0 {
		return parseSnowflake(o.ReplyTo)
	}
	r := c.responses.find(o.ReplyTo)
	if r == nil || !r.command || r.private || !r.await(ctx) {
		return 0
	}
	return r.message
}

// askerInText returns the user whom the text must mention, because the message replies to no
// message of that user; 0 means nobody.
func (c *Channel) askerInText(o channels.Outgoing) snowflake {
	if !o.Mention {
		return 0
	}
	if r := c.responses.find(o.ReplyTo); r != nil {
		return r.asker
	}
	if o.ReplyTo == o.Chat.ID {
		thread, _ := c.guilds.channel(parseSnowflake(o.Chat.ID))
		return thread.starter
	}
	return 0
}

// messageNonce derives the idempotency key of a message from its Key and content. The content is
// included because keys restart with a new state folder. Without a Key each nonce is random.
func messageNonce(o channels.Outgoing) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", cmp.Or(o.Key, rand.Text()), o.Chat.ID, o.Text)
	for _, f := range o.Media {
		fmt.Fprintf(h, "%s\x00%d\x00", f.Name, f.Size)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15])) // 24 letters; Discord allows 25
}

// appendLine adds an unformatted line to the text, and shortens the text if the line would not fit.
func (p *outgoingPost) appendLine(line string) {
	line = write(markdown.Plain(line))
	room := textLimit - channels.Runes(line) - 1
	if text := []rune(p.text); len(text) > room {
		p.text = string(text[:max(room-1, 0)]) + "…"
	}
	p.text = strings.TrimLeft(p.text+"\n"+line, "\n")
}

// dropRefusedPart removes the part of a message that Discord has refused, and reports whether it
// could.
func (p *outgoingPost) dropRefusedPart(err error) bool {
	var apiErr *apiError
	switch {
	case len(p.files) > 0 && (isTooLarge(err) || isFileError(err)):
		for _, f := range p.files {
			if isTooLarge(err) {
				p.appendLine(p.words.Text(words.FileNotSentSize, strconv.Quote(f.Name), channels.HumanSize(f.Size),
					p.words.Text(words.FileTooLargeForDiscord)))
			} else {
				p.appendLine(p.words.Text(words.FileNotSent, strconv.Quote(f.Name), p.words.Text(words.FileOfMessageUnreadable)))
			}
		}
		p.files = nil
	case !errors.As(err, &apiErr):
		return false
	case p.private != nil && isUnanswerable(err):
		p.private = nil
	case p.replyTo != 0 && apiErr.concerns("message_reference", cannotReply):
		p.replyTo = 0
	case len(p.buttons) > 0 && apiErr.concerns("components", 0):
		p.buttons = nil
	default:
		return false
	}
	return true
}

// sendPost makes the call and returns the ID of the sent message. Mentions in the agent's text
// notify nobody.
func (c *Channel) sendPost(ctx context.Context, p *outgoingPost) (string, error) {
	m := messageRequest{
		MessageSend: discordgo.MessageSend{
			Content: p.text, AllowedMentions: noMentions,
			Components: components(p.buttons, p.words),
		},
		Nonce: p.nonce, EnforceNonce: true,
	}
	if p.outgoing.Kind == channels.Progress || p.outgoing.Silent {
		m.Flags = discordgo.MessageFlagsSuppressNotifications
	}
	if p.replyTo != 0 {
		m.Reference = &discordgo.MessageReference{MessageID: p.replyTo.String(), FailIfNotExists: new(false)}
		m.AllowedMentions = &discordgo.MessageAllowedMentions{Parse: noMentions.Parse, RepliedUser: p.outgoing.Mention}
	}
	if asker := c.askerInText(p.outgoing).String(); asker != "0" && channels.Runes(p.text+"\n<@"+asker+">") <= textLimit {
		m.Content = strings.TrimLeft(p.text+"\n<@"+asker+">", "\n")
		m.AllowedMentions = &discordgo.MessageAllowedMentions{Parse: noMentions.Parse, Users: []string{asker}}
	}
	r := route{createMessage, p.channel.String()}
	return c.postMessage(ctx, messageCall{
		r, http.MethodPost, discordgo.EndpointChannelMessages(r.major),
		func(files []attachmentName) any {
			m.Attachments = files
			return m
		},
	}, p.files)
}

// postMessage makes a call and returns the ID of the message.
func (c *Channel) postMessage(ctx context.Context, call messageCall, files []channels.File) (string, error) {
	var s messageResponse
	var err error
	if len(files) > 0 {
		s, err = c.postFiles(ctx, call, files)
	} else {
		err = c.api.call(ctx, call.route, &s, func(l library) (any, error) { // ChannelMessageSendComplex takes no nonce
			return l.RequestWithBucketID(call.method, call.url, call.body(nil), call.url, l.options...)
		})
	}
	if err == nil && s.ID == 0 {
		err = &httpclient.NoResponseError{Name: call.route.name, Err: errNotDiscord, Written: true}
	}
	return s.ID.String(), err
}
