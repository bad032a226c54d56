package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
)

const (
	// answerTime is how long Discord waits for the answer to an interaction.
	answerTime = 3 * time.Second
	// tokenLife is how long what was answered can be changed. We stay a little below Discord's 15
	// minutes.
	tokenLife = 14 * time.Minute
	// alreadyAnswered is what Discord says when an interaction was answered before.
	alreadyAnswered = 40060
	// maxQuoted is how much of what somebody asked is shown.
	maxQuoted = 1500
)

// use is one use of a command or a button.
type use struct {
	*interaction
	began time.Time
	said  *said // of a command: the message that shows it
	acked chan struct{}
	ok    bool // Discord took the answer; known when acked is closed
}

// heard makes a use of an interaction as soon as it comes, whatever waits before it, and has
// Discord told: it waits for three seconds only. What comes of it is said in messages of their own,
// which no token limits.
func (s *session) heard(data json.RawMessage) *use {
	var i interaction
	if json.Unmarshal(data, &i) != nil || i.Type != discordgo.InteractionApplicationCommand && i.Type != discordgo.InteractionMessageComponent {
		return nil
	}
	if s.last != nil && s.last.ID == i.ID { // told again because the connection broke
		return s.last
	}
	u := &use{interaction: &i, began: time.Now(), acked: make(chan struct{})}
	if i.Type == discordgo.InteractionApplicationCommand && !s.c.declines(u) {
		u.said = s.c.slash.begin(i.ID)
	}
	s.last = u
	s.answer(u)
	return u
}

// declines tells whether an interaction comes from where we do not answer.
func (c *Channel) declines(u *use) bool { return u.Guild != 0 && c.o.Groups == "off" }

func (c *Channel) answer(ctx context.Context, u *use) {
	if c.declines(u) {
		c.decline(ctx, u)
	} else {
		c.acknowledge(ctx, u)
	}
}

// interact takes in a use of a command or a button.
func (in *intake) interact(ctx context.Context, u *use) {
	i := u.interaction
	if in.c.declines(u) || !in.m.see(i.ID) {
		return
	}
	if i.Guild == 0 || i.isThread() {
		in.m.talked(chat{i.ChannelID, i.Guild != 0})
	}
	e := in.newEntry()
	e.use = u
	l := in.line(i.ChannelID)
	if l.past != nil {
		l.hold(e)
	} else {
		l.queue = append(l.queue, e)
	}
	in.complete(ctx, e)
}

// complete makes a message of an interaction, at the side if it has files.
func (in *intake) complete(ctx context.Context, e *entry) {
	u, _ := e.use.by()
	e.in = e.use.incoming()
	files := e.use.files()
	if len(files) == 0 || !in.c.known(u) {
		close(e.ready)
		return
	}
	in.aside(ctx, func() func() {
		paths, problems := in.c.saveAll(ctx, e.in, files)
		if ctx.Err() != nil {
			return nil
		}
		e.in.Media = paths
		e.in.Text = joined(append([]string{e.in.Text}, problems...)...)
		in.c.complain(ctx, e.in, problems)
		close(e.ready)
		return func() {}
	})
}

func (i *interaction) isThread() bool { return i.Channel != nil && isThread(i.Channel.Type) }

// incoming is what the gateway gets of an interaction. Its id is the interaction's own: a button
// may be pressed again.
func (i *interaction) incoming() channels.Incoming {
	by, m := i.by()
	in := channels.Incoming{Chat: channels.Chat{Channel: Name, ID: i.ChannelID.String()}, User: sender(by, m)}
	if i.isThread() {
		in.ThreadID = in.Chat.ID
	}
	if i.Type == discordgo.InteractionMessageComponent {
		in.ID, in.Press = "press-"+i.ID.String(), strings.TrimPrefix(i.pressed(), stayMark)
		return in
	}
	in.ID, in.Text = slashPrefix+i.ID.String(), i.asked()
	return in
}

// pressed is the data of the button that was pressed, or that was chosen from a list.
func (i *interaction) pressed() string {
	if len(i.Data.Values) > 0 {
		return i.Data.Values[0]
	}
	return i.Data.CustomID
}

// asked is what a command says: free text for the agent, or one of the gateway's commands as it
// would be typed.
func (i *interaction) asked() string {
	var words []string
	for _, o := range i.Data.Options {
		if text := o.text(); text != "" && o.Name != fileOption {
			words = append(words, text)
		}
	}
	text := strings.Join(words, " ")
	if i.Data.Name == askCommand {
		return text
	}
	return strings.TrimSpace("/" + i.Data.Name + " " + text)
}

// files are what was sent along with a command.
func (i *interaction) files() []attachment {
	var all []attachment
	for _, o := range i.Data.Options {
		if f, ok := i.Data.Resolved.Attachments[o.text()]; ok {
			all = append(all, f)
		}
	}
	return all
}

// acknowledge tells Discord that an interaction was heard: under a command it says then that the
// bot is thinking.
func (c *Channel) acknowledge(ctx context.Context, u *use) {
	defer close(u.acked)
	kind := discordgo.InteractionResponseDeferredMessageUpdate
	if u.said != nil {
		defer u.said.end()
		kind = discordgo.InteractionResponseDeferredChannelMessageWithSource
	}
	var response struct {
		Resource struct {
			Message struct {
				ID flake `json:"id"`
			} `json:"message"`
		} `json:"resource"`
	}
	err := c.respond(ctx, u, &discordgo.InteractionResponse{Type: kind}, &response)
	u.ok = err == nil
	if u.said != nil {
		u.said.message = response.Resource.Message.ID
	}
	if err != nil && ctx.Err() == nil { // it is received all the same
		c.log.Warn("interaction not acknowledged", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// forLibrary is an interaction as the library's methods take it. They put the token into addresses
// as it is, so it is escaped here.
func (i *interaction) forLibrary() *discordgo.Interaction {
	return &discordgo.Interaction{ID: i.ID.String(), AppID: i.App.String(), Token: url.PathEscape(i.Token)}
}

// respond answers an interaction as long as there is time.
func (c *Channel) respond(ctx context.Context, u *use, response *discordgo.InteractionResponse, into any) error {
	ctx, cancel := context.WithDeadline(ctx, u.began.Add(answerTime))
	defer cancel()
	i := u.forLibrary()
	// The library's method has no parameter for with_response, by which Discord tells the id of the
	// message that it makes.
	withResponse := func(r *discordgo.RequestConfig) { r.Request.URL.RawQuery = "with_response=true" }
	for {
		err := c.api.call(ctx, route{callback, i.ID + "/" + i.Token}, into, func(l library) (any, error) {
			return nil, l.InteractionRespond(i, response, append(l.options, withResponse)...)
		})
		var no *refusal
		switch {
		case err == nil || errors.As(err, &no) && no.Code == alreadyAnswered: // by an earlier try whose answer was lost
			return nil
		case no != nil && no.final(), !httpclient.Sleep(ctx, max(100*time.Millisecond, waitOf(err))):
			return err
		}
	}
}

// decline tells who uses a command on a server that we answer in direct messages only. Nobody else
// sees it.
func (c *Channel) decline(ctx context.Context, u *use) {
	response := &discordgo.InteractionResponse{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: &discordgo.InteractionResponseData{
		Content: "I answer in direct messages only.", Flags: discordgo.MessageFlagsEphemeral,
	}}
	if err := c.respond(ctx, u, response, nil); err != nil && ctx.Err() == nil {
		c.log.Debug("interaction not declined", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// settle shows that an interaction was received: what was asked, in place of the bot's thinking;
// and no buttons any more where one was pressed, unless it stays.
func (c *Channel) settle(ctx context.Context, u *use) {
	<-u.acked
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	by, _ := u.by()
	var err error
	switch {
	case u.said != nil && u.ok && time.Since(u.began) < tokenLife:
		i := u.forLibrary()
		err = c.api.call(ctx, route{editOriginal, i.AppID + "/" + i.Token}, nil, func(l library) (any, error) {
			return l.InteractionResponseEdit(i, &discordgo.WebhookEdit{Content: new(u.quoted()), AllowedMentions: nobody}, l.options...)
		})
	case u.said == nil && strings.HasPrefix(u.pressed(), stayMark): // its buttons stay
	case u.said == nil && u.Message != nil && c.known(by):
		err = c.api.edit(ctx, &discordgo.MessageEdit{
			Channel: u.ChannelID.String(), ID: u.Message.ID.String(), Components: &[]discordgo.MessageComponent{},
		})
	}
	if err != nil {
		c.log.Debug("interaction not shown as received", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// quoted is what was asked, as a quotation.
func (i *interaction) quoted() string {
	text := []rune(cmp.Or(i.asked(), "…"))
	if len(text) > maxQuoted {
		text = append(text[:maxQuoted:maxQuoted], '…')
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, f := range i.files() {
		lines = append(lines, "📎 "+f.Name)
	}
	return "> " + strings.Join(lines, "\n> ")
}
