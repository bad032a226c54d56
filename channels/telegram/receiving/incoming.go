package receiving

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-telegram/bot"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/channels/telegram/botapi"
	"nanobot/channels/telegram/updates"
	"nanobot/internal/words"
)

// newPart converts an update to a part of a message. prefix precedes its ID; see identity.
func (r *Receiver) newPart(u *updates.Update, prefix, group string) channels.Incoming {
	m := u.Message
	return channels.Incoming{
		Chat: r.chat(m.Address().String()), ID: prefix + u.PartID(), User: m.Sender(),
		Part: &channels.Part{Group: group}, Raw: u.Raw,
	}
}

// newIncoming converts a message, or the parts of an album, to one incoming message. It returns
// when the files are downloaded; for a failed download, the text gives the reason.
func (r *Receiver) newIncoming(ctx context.Context, parts []*updates.Message) channels.Incoming {
	slices.SortStableFunc(parts, func(a, b *updates.Message) int { return a.ID - b.ID })
	first := parts[0]
	at := first.Address()
	in := channels.Incoming{
		Chat: r.chat(at.String()),
		ID:   r.identity.gatewayID(first),
		User: first.Sender(), Group: first.IsGroup(), Title: channels.StripBidi(first.Chat.Title),
	}
	in.Follows = first.Follows()
	if at.Thread != 0 {
		in.ThreadID = strconv.Itoa(at.Thread)
	}
	if first.IsEdit {
		in.Change, in.ChangedAt = channels.Edited, time.Unix(first.EditDate, 0).UTC()
	}
	var problems []string
	for i, m := range parts {
		content, problem := r.newContent(ctx, in, m)
		if i == 0 {
			in.Text, in.Media, in.MediaNames = content.Text, content.Media, content.MediaNames
			in.ReplyTo, in.Forwarded = content.ReplyTo, content.Forwarded
		} else {
			in = channels.Join(in, content, updates.Separator(parts[i-1], m))
		}
		problems = append(problems, problem)
	}
	in.Text = joinLines(append([]string{in.Text}, problems...))
	return in
}

// newContent returns the content of one message, which may be a part of whole. problem describes a
// failed download.
func (r *Receiver) newContent(ctx context.Context, whole channels.Incoming,
	m *updates.Message,
) (content channels.Incoming, problem string) {
	content = channels.Incoming{
		ID:   r.identity.gatewayID(m),
		Text: joinLines([]string{r.identity.contentText(m), m.DescribeExtras()}),
	}
	content.Forwarded = m.Forwarded()
	if quoted := m.Quoted(); quoted != nil {
		content.ReplyTo = r.newQuote(ctx, whole, m, quoted)
	}
	path, problem := r.downloadMedia(ctx, whole, m)
	if path != "" {
		content.Media = []string{path}
		if name := m.DownloadableFile().Name; name != "" {
			content.MediaNames = []string{channels.StripBidi(name)}
		}
	}
	return content, problem
}

// joinLines joins the lines that are not empty.
func joinLines(lines []string) string {
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")
}

// newQuote converts the message that another replies to. Its text is the quoted passage, if there
// is one.
func (r *Receiver) newQuote(ctx context.Context, in channels.Incoming, m, quoted *updates.Message) *channels.Quote {
	q := &channels.Quote{ID: r.identity.gatewayID(quoted)}
	if u := quoted.Sender(); u != (channels.User{}) {
		q.User = &u
	}
	if e := m.External.Value; e != nil {
		q.ID, q.User = "", nil
		if e.ID != 0 {
			q.ID = strconv.Itoa(e.ID)
		}
		if e.Origin != nil {
			q.User, q.Chat = e.Origin.Author(), e.Origin.OriginChat()
		}
		if e.Chat.ID != 0 {
			q.Chat = e.Chat.ToOrigin()
		}
	}
	text, entities := quoted.TextAndEntities()
	if m.Quote != nil && m.Quote.Text != "" {
		text, entities = m.Quote.Text, m.Quote.Entities
	}
	path, problem := r.downloadMedia(ctx, in, quoted)
	if path != "" {
		q.Media = []string{path}
	}
	q.Text = joinLines([]string{updates.RenderMarkdown(text, entities, nil), quoted.DescribeExtras(), problem})
	return q
}

// downloadMedia downloads a message's file, if it has one. problem describes a failed download, for
// the sender and the agent.
func (r *Receiver) downloadMedia(ctx context.Context, in channels.Incoming, m *updates.Message) (path, problem string) {
	f := m.DownloadableFile()
	if f == nil {
		return "", ""
	}
	w, name := r.words.For(in.User.Language), strconv.Quote(f.DisplayName(""))
	if !r.o.Admitted(in.User.ID) {
		return "", w.Text(words.FileNotReceived, name, w.Text(words.FileOfStranger))
	}
	path, err := r.downloads.download(ctx, in.Chat.ID, r.identity.gatewayID(m), f)
	var big *httpclient.TooBigError
	reason, refused := downloads.Refusal(err, w)
	switch {
	case err == nil:
		return path, ""
	case refused:
		problem = w.Text(words.FileNotReceived, name, reason)
	case errors.As(err, &big) && f.Size > 0:
		problem = w.Text(words.FileNotReceivedSize, name, channels.HumanSize(f.Size), explainLimit(big, w))
	case errors.As(err, &big):
		problem = w.Text(words.FileNotReceived, name, explainLimit(big, w))
	default:
		problem = w.Text(words.FileNotReceived, name, w.Text(words.FileDownloadFailed))
	}
	if ctx.Err() == nil {
		r.o.Log.Error("file not downloaded", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
		r.notifySender(ctx, in, problem)
	}
	return "", problem
}

// notifySender replies to the sender of a message. A failure is not retried, because the agent gets
// the same notice.
func (r *Receiver) notifySender(ctx context.Context, in channels.Incoming, text string) {
	_, err := r.o.Sender.Send(ctx, channels.Outgoing{
		Chat: in.Chat, Kind: channels.Failure, Text: text, ReplyTo: in.ID, Language: in.User.Language,
		Notification: channels.Notification{Silent: true},
	})
	if err != nil {
		r.o.Log.Warn("sender not told that a file was not received", zap.Stringer("chat", in.Chat), zap.Error(err))
	}
}

// refuseUnreadable tells the sender that a kind of message cannot be read.
func (r *Receiver) refuseUnreadable(ctx context.Context, m *updates.Message) {
	in := channels.Incoming{
		Chat: r.chat(m.Address().String()),
		ID:   r.identity.gatewayID(m),
	}
	if r.o.Admitted(m.Sender().ID) {
		r.notifySender(ctx, in, r.words.For(m.Sender().Language).Text(m.Unreadable()))
	}
}

// newPress converts a callback query to a message. It has the query's own ID, because a button can
// be pressed again.
func (r *Receiver) newPress(ctx context.Context, p *updates.CallbackQuery) channels.Incoming {
	at := r.o.Sender.PressedChat(ctx, p.Message.Address(), p.Message.Chat.ID, p.Message.ID)
	in := channels.Incoming{
		Chat:  r.chat(at.String()),
		ID:    channels.PressID(p.ID),
		User:  p.From.ToUser(),
		Group: p.Message.IsGroup(),
		Press: channels.DecodeButton(p.Data).Data,
		Respond: func(text string) {
			select {
			case p.Response <- text:
			default:
			}
		},
	}
	if at.Thread != 0 {
		in.ThreadID = strconv.Itoa(at.Thread)
	}
	return in
}

// maxResponse is Telegram's limit for the response to a press, in UTF-16 units.
const maxResponse = 200

// answerCallbackQuery ends the progress indicator on a button, with the gateway's response, which
// only the person who has pressed it sees. For an old press it fails, which does not matter.
func (r *Receiver) answerCallbackQuery(ctx context.Context, p *updates.CallbackQuery) {
	params := &bot.AnswerCallbackQueryParams{CallbackQueryID: p.ID}
	if p.Message != nil && p.Data != "" { // otherwise the press is not received
		select {
		case text := <-p.Response:
			params.Text = strings.ReplaceAll(text, "\n", " ")
		case <-time.After(r.o.Timing.Response):
		case <-ctx.Done():
		}
	}
	for n := maxResponse - 1; channels.UTF16(params.Text) > maxResponse; n /= 2 {
		params.Text = channels.FirstLine(params.Text, n)
	}
	err := botapi.ExecuteWithTimeout(ctx, r.o.API, (*bot.Bot).AnswerCallbackQuery, params)
	if err != nil {
		r.o.Log.Debug("press not acknowledged", zap.Error(err))
	}
}

// removeButtons removes the buttons of a message after a press, unless the pressed button stays or
// the person may not talk to the bot.
func (r *Receiver) removeButtons(ctx context.Context, p *updates.CallbackQuery) {
	if !channels.DecodeButton(p.Data).Stays && r.o.Admitted(p.From.ToUser().ID) {
		r.o.Sender.RemoveButtons(ctx, p.Message.Chat.ID, p.Message.ID)
	}
}
