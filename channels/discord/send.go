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
	"strings"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/markdown"
)

// creation is a new message. The library's type lacks the nonce, and describes no files that we
// upload by ourselves.
type creation struct {
	discordgo.MessageSend
	Nonce       string     `json:"nonce"`
	Enforce     bool       `json:"enforce_nonce"`
	Attachments []fileNote `json:"attachments,omitempty"`
}

// sent is what is read of the answer to a creation.
type sent struct {
	ID flake `json:"id"`
}

// nobody is pinged by what an agent says, whoever it names.
var nobody = &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}

// post is one part on its way: what Plan decided, and what Discord's answers have changed of it.
type post struct {
	o       channels.Outgoing
	to      flake
	text    string
	files   []channels.File
	buttons []channels.Button
	reply   flake
	nonce   string
}

// Send makes one call. Where Discord refuses only a file, the reference or the buttons, the call is
// made again without: nothing was sent before. All tries carry the same nonce.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err}
	}
	to := parseFlake(o.Chat.ID)
	if to == 0 {
		return channels.Receipt{}, &channels.SendError{Err: fmt.Errorf("%q is no chat of Discord's", o.Chat.ID), Permanent: true}
	}
	p := &post{o: o, to: to, text: o.Text, files: o.Media, buttons: o.Buttons, nonce: nonce(o)}
	if o.ReplyTo != "" {
		p.reply = c.slash.find(ctx, o.ReplyTo)
	}
	p.fit(c.world.uploadLimit(to))
	for {
		id, err := c.post(ctx, p)
		if err == nil {
			return channels.Receipt{ID: id}, nil
		}
		if !p.mend(err) {
			return channels.Receipt{}, sendError(err)
		}
		c.log.Warn("not sent as planned", zap.Stringer("chat", o.Chat), zap.Error(err))
	}
}

// nonce makes one send of all that have the same Key and content. The content is part of it because
// keys begin anew with a new state. Without a Key each send is one by itself.
func nonce(o channels.Outgoing) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", cmp.Or(o.Key, rand.Text()), o.Chat.ID, o.Text)
	for _, f := range o.Media {
		fmt.Fprintf(h, "%s\x00%d\x00", f.Name, f.Size)
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:15])) // 24 letters, of 25 that Discord takes
}

// fit leaves out files that are larger than the chat takes.
func (p *post) fit(limit int64) {
	var good []channels.File
	for _, f := range p.files {
		if f.Size > limit {
			p.tell(tooBig(f, limit))
		} else {
			good = append(good, f)
		}
	}
	p.files = good
}

// tell adds a line without formatting to the text, and cuts the text for it if it must.
func (p *post) tell(line string) {
	line = write(markdown.Plain(line))
	room := textLimit - channels.Runes(line) - 1
	if text := []rune(p.text); len(text) > room {
		p.text = string(text[:max(room-1, 0)]) + "…"
	}
	p.text = strings.TrimLeft(p.text+"\n"+line, "\n")
}

// mend changes a post so that Discord may take it after an error, and reports whether it could.
func (p *post) mend(err error) bool {
	var no *refusal
	switch {
	case len(p.files) > 0 && (tooLarge(err) || isFileError(err)):
		for _, f := range p.files {
			if tooLarge(err) {
				p.tell(fmt.Sprintf("⚠ %q (%s) was not sent: it is more than Discord takes here.", f.Name, channels.HumanSize(f.Size)))
			} else {
				p.tell(fmt.Sprintf("⚠ %q was not sent: it cannot be read any more.", f.Name))
			}
		}
		p.files = nil
	case !errors.As(err, &no):
		return false
	case p.reply != 0 && no.about("message_reference", cannotReply):
		p.reply = 0
	case len(p.buttons) > 0 && no.about("components", 0):
		p.buttons = nil
	default:
		return false
	}
	return true
}

// post makes the call and returns the id of what was sent.
func (c *Channel) post(ctx context.Context, p *post) (string, error) {
	m := creation{
		MessageSend: discordgo.MessageSend{Content: p.text, AllowedMentions: nobody, Components: components(p.buttons)},
		Nonce:       p.nonce, Enforce: true,
	}
	if p.o.Kind == channels.Progress {
		m.Flags = discordgo.MessageFlagsSuppressNotifications
	}
	if p.reply != 0 {
		m.Reference = &discordgo.MessageReference{MessageID: p.reply.String(), FailIfNotExists: new(false)}
	}
	r := route{createMessage, p.to.String()}
	var s sent
	var err error
	if len(p.files) > 0 {
		s, err = c.postFiles(ctx, r, m, p.files)
	} else {
		err = c.api.call(ctx, r, &s, func(l library) (any, error) { // ChannelMessageSendComplex takes no nonce
			messages := discordgo.EndpointChannelMessages(r.major)
			return l.RequestWithBucketID(http.MethodPost, messages, m, messages, l.options...)
		})
	}
	if err == nil && s.ID == 0 {
		err = &silence{Name: r.name, Err: errForeign, Written: true}
	}
	return s.ID.String(), err
}
