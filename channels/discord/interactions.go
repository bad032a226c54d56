package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/httpclient"
	"nanobot/internal/words"
)

const (
	// alreadyAnswered is Discord's error code for an interaction that already has a response.
	alreadyAnswered = 40060
	// maxQuotedRunes is how much of a command's text is shown.
	maxQuotedRunes = 1500
)

// receivedInteraction is one use of a command or a button.
type receivedInteraction struct {
	*interaction
	*interactionResponse
}

// receiveInteraction decodes an interaction as soon as it arrives, ahead of queued events, and
// acknowledges it, because Discord waits only three seconds. The answers follow as separate
// messages, which need no interaction token.
func (s *session) receiveInteraction(data json.RawMessage) *receivedInteraction {
	var i interaction
	if json.Unmarshal(data, &i) != nil || i.Type != discordgo.InteractionApplicationCommand &&
		i.Type != discordgo.InteractionMessageComponent {
		return nil
	}
	if s.lastInteraction != nil && s.lastInteraction.ID == i.ID { // repeated after a reconnect
		return s.lastInteraction
	}
	u := &receivedInteraction{&i, s.c.newResponse(&i)}
	if !s.c.declines(u) {
		s.c.responses.add(i.ID, u.interactionResponse)
	}
	s.lastInteraction = u
	s.startAnswer(u)
	return u
}

func (c *Channel) newResponse(i *interaction) *interactionResponse {
	by, _ := i.sentBy()
	r := &interactionResponse{
		to: i.toLibrary(), asker: by.ID, receivedAt: time.Now(), acked: make(chan struct{}),
		command: i.Type == discordgo.InteractionApplicationCommand,
	}
	if r.command {
		r.private = slices.ContainsFunc(c.menu.Commands(),
			func(m channels.Command) bool { return m.Private && strings.EqualFold(m.Name, i.Data.Name) })
	} else { // the gateway answers only people whom it knows
		r.private = i.pressed().Private && c.isAdmitted(by)
	}
	return r
}

// declines reports whether an interaction comes from a server while the bot answers only direct
// messages.
func (c *Channel) declines(u *receivedInteraction) bool { return u.Guild != 0 && c.o.Groups == "off" }

func (c *Channel) answerInteraction(ctx context.Context, u *receivedInteraction) {
	if c.declines(u) {
		c.declineInteraction(ctx, u)
	} else {
		c.acknowledge(ctx, u)
	}
}

// handleInteraction queues a use of a command or a button.
func (in *receiver) handleInteraction(ctx context.Context, u *receivedInteraction) {
	i := u.interaction
	if in.c.declines(u) || !in.state.markAccepted(i.ID) {
		return
	}
	if i.Guild == 0 || i.isThread() {
		in.state.touchChat(chat{i.ChannelID, i.Guild != 0})
	}
	e := &entry{interaction: u, chatsVersion: in.state.chatsVersion}
	in.queueOf(i.ChannelID).add(e)
	in.prepareInteraction(ctx, e)
}

// prepareInteraction builds the incoming message of an interaction: in the background if it has
// files.
func (in *receiver) prepareInteraction(ctx context.Context, e *entry) {
	u, _ := e.interaction.sentBy()
	e.incoming = in.c.newInteraction(e.interaction.interaction)
	if pressed := e.interaction.Message; pressed != nil && e.incoming.Press != "" {
		if m, found := in.c.findRelocated(ctx, pressed.ID.String()); found && m.In == e.incoming.Chat.ID {
			e.incoming.Chat.ID, e.incoming.ThreadID, e.incoming.Parent = m.Chat, m.Chat, m.In
		}
	}
	files := e.interaction.files()
	if !in.c.isAdmitted(u) {
		files = nil
	}
	if e.incoming.Press != "" {
		e.incoming.Respond = func(text string) {
			in.background.Go(func() error { in.c.tellAsker(ctx, e.interaction, text); return nil })
		}
	}
	in.prepare(ctx, e, len(files) > 0, func() {
		got, problems := in.c.downloadAll(ctx, e.incoming, files)
		e.incoming.Media, e.incoming.MediaNames = got.paths, got.names
		e.incoming.Text = joinLines(append([]string{e.incoming.Text}, problems...)...)
		in.c.reportMissingFiles(ctx, e.incoming, problems)
	})
}

func (i *interaction) isThread() bool { return i.Channel != nil && isThread(i.Channel.Type) }

// newInteraction converts an interaction to a message. It has the interaction's own ID, because a
// button can be pressed again.
func (c *Channel) newInteraction(i *interaction) channels.Incoming {
	by, m := i.sentBy()
	in := channels.Incoming{
		Chat: c.chat(i.ChannelID.String()), User: sender(by, m),
		Group: i.Guild != 0,
	}
	in.User.Language = i.Locale
	if i.isThread() {
		in.ThreadID, in.Parent = in.Chat.ID, i.Channel.Parent.String()
	}
	if i.Type == discordgo.InteractionMessageComponent {
		in.ID, in.Press = channels.PressID(i.ID.String()), i.pressed().Data
		return in
	}
	in.ID, in.Text = commandPrefix+i.ID.String(), i.commandText()
	// The gateway may have a command of this name, too.
	isAsk := func(own channels.Command) bool { return strings.EqualFold(own.Name, askCommand) }
	if i.Data.Name == askCommand && slices.ContainsFunc(c.menu.Commands(), isAsk) {
		in.Text = strings.TrimSpace("/" + askCommand + " " + in.Text)
	}
	return in
}

// pressed is the pressed button or the chosen option.
func (i *interaction) pressed() channels.Button {
	if len(i.Data.Values) > 0 {
		return channels.DecodeButton(i.Data.Values[0])
	}
	return channels.DecodeButton(i.Data.CustomID)
}

// commandText is the text of a command: free text for the agent, or a gateway command as it would
// be typed.
func (i *interaction) commandText() string {
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

// files are the attachments of a command.
func (i *interaction) files() []attachment {
	var all []attachment
	for _, o := range i.Data.Options {
		if f, ok := i.Data.Resolved.Attachments[o.text()]; ok {
			all = append(all, f)
		}
	}
	return all
}

// acknowledge responds to an interaction. For a command, and for a button whose answer is private,
// Discord then shows that the bot is thinking.
func (c *Channel) acknowledge(ctx context.Context, u *receivedInteraction) {
	defer close(u.acked)
	answer := &discordgo.InteractionResponse{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	if u.command || u.private {
		answer.Type = discordgo.InteractionResponseDeferredChannelMessageWithSource
	}
	if u.private {
		answer.Data = &discordgo.InteractionResponseData{Flags: discordgo.MessageFlagsEphemeral}
	}
	var response struct {
		Resource struct {
			Message struct {
				ID snowflake `json:"id"`
			} `json:"message"`
		} `json:"resource"`
	}
	err := c.respondToInteraction(ctx, u, answer, &response)
	u.acknowledged, u.message = err == nil, response.Resource.Message.ID
	if err != nil && ctx.Err() == nil { // the interaction is still received
		c.log.Warn("interaction not acknowledged", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// toLibrary converts an interaction to the library's type. The library puts the token into URLs as
// it is, so it is escaped here.
func (i *interaction) toLibrary() *discordgo.Interaction {
	return &discordgo.Interaction{ID: i.ID.String(), AppID: i.App.String(), Token: url.PathEscape(i.Token)}
}

// respondToInteraction sends the response to an interaction, with retries while Discord waits for
// it.
func (c *Channel) respondToInteraction(ctx context.Context, u *receivedInteraction,
	response *discordgo.InteractionResponse, into any,
) error {
	ctx, cancel := context.WithDeadline(ctx, u.receivedAt.Add(c.o.Timing.Response))
	defer cancel()
	i := u.to
	// The library's method has no parameter for with_response, which makes Discord return the ID
	// of the created message.
	withResponse := func(r *discordgo.RequestConfig) { r.Request.URL.RawQuery = "with_response=true" }
	for {
		err := c.api.call(ctx, route{callback, i.ID + "/" + i.Token}, into, func(l library) (any, error) {
			return nil, l.InteractionRespond(i, response, append(l.options, withResponse)...)
		})
		var apiErr *apiError
		switch {
		// by an earlier try whose response was lost
		case err == nil || errors.As(err, &apiErr) && apiErr.Code == alreadyAnswered:
			return nil
		case apiErr != nil && apiErr.isPermanent(),
			!httpclient.Sleep(ctx, max(100*time.Millisecond, httpclient.RetryAfter(err))):
			return err
		}
	}
}

// declineInteraction tells the user of a command on a server that the bot answers only direct
// messages. Only that user sees it.
func (c *Channel) declineInteraction(ctx context.Context, u *receivedInteraction) {
	response := &discordgo.InteractionResponse{
		Type: discordgo.InteractionResponseChannelMessageWithSource,
		Data: &discordgo.InteractionResponseData{
			Content: c.words.For(u.Locale).Text(words.OnlyDirectMessages), Flags: discordgo.MessageFlagsEphemeral,
		},
	}
	if err := c.respondToInteraction(ctx, u, response, nil); err != nil && ctx.Err() == nil {
		c.log.Debug("interaction not declined", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// showReceived shows that an interaction was received: a command's message shows its text, and the
// buttons of a pressed message are removed unless the pressed button stays. A private command shows
// its answer instead, if the gateway answers that person.
func (c *Channel) showReceived(ctx context.Context, u *receivedInteraction) {
	<-u.acked
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	by, _ := u.sentBy()
	inTime := u.acknowledged && time.Since(u.receivedAt) < tokenLifetime
	var err error
	switch {
	case u.command && u.private && (c.isAdmitted(by) || !u.claimContent(quotedCommand)):
	case u.command && inTime:
		err = c.api.editOriginal(ctx, u.to, &discordgo.WebhookEdit{
			Content:         new(u.quotedCommand()),
			AllowedMentions: noMentions,
		})
	case u.command || u.pressed().Stays: // its buttons stay
	case u.Message == nil || !c.isAdmitted(by):
	case u.Message.Flags&discordgo.MessageFlagsEphemeral != 0: // only the interaction's token can edit it
		if inTime {
			err = c.api.editOriginal(ctx, u.to, &discordgo.WebhookEdit{Components: &[]discordgo.MessageComponent{}})
		}
	default:
		err = c.api.editMessage(ctx, &discordgo.MessageEdit{
			Channel: u.ChannelID.String(), ID: u.Message.ID.String(), Components: &[]discordgo.MessageComponent{},
		})
	}
	if err != nil {
		c.log.Debug("interaction not shown as received", zap.Stringer("id", u.ID), zap.Error(err))
	}
}

// quotedCommand is the nonce of a command's text as the content of its response.
const quotedCommand = "quoted command"

// editOriginal edits the message of a response, or the message whose button was pressed.
func (a *api) editOriginal(ctx context.Context, i *discordgo.Interaction, edit *discordgo.WebhookEdit) error {
	return a.call(ctx, route{editOriginal, i.AppID + "/" + i.Token}, nil,
		func(l library) (any, error) { return l.InteractionResponseEdit(i, edit, l.options...) })
}

// quotedCommand is the text of a command as a quotation.
func (i *interaction) quotedCommand() string {
	text := []rune(cmp.Or(i.commandText(), "…"))
	if len(text) > maxQuotedRunes {
		text = append(text[:maxQuotedRunes:maxQuotedRunes], '…')
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, f := range i.files() {
		lines = append(lines, "📎 "+f.Name)
	}
	return "> " + strings.Join(lines, "\n> ")
}
