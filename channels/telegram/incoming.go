package telegram

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/internal/words"
)

// partID returns the ID of an update as a part: that of its message, or one of its own for an edit.
func (u *update) partID() string {
	if u.Message.isEdit {
		return u.Message.gatewayID() + "-edit-" + strconv.FormatInt(u.ID, 10)
	}
	return u.Message.gatewayID()
}

// newPart converts an update to a part of a message. prefix precedes its ID; see loadIdentity.
func (c *Channel) newPart(u *update, prefix, group string) channels.Incoming {
	m := u.Message
	return channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: m.address().String()}, ID: prefix + u.partID(), User: sender(m),
		Part: &channels.Part{Group: group}, Raw: u.raw,
	}
}

// newIncoming converts a message, or the parts of an album, to one incoming message. It returns
// when the files are downloaded; for a failed download, the text gives the reason.
func (c *Channel) newIncoming(ctx context.Context, parts []*message) channels.Incoming {
	slices.SortStableFunc(parts, func(a, b *message) int { return a.ID - b.ID })
	first := parts[0]
	at := first.address()
	in := channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: at.String()},
		ID:   c.gatewayID(first),
		User: sender(first), Group: first.isGroup(), Title: channels.StripBidi(first.Chat.Title),
	}
	in.Follows = first.follows()
	if at.thread != 0 {
		in.ThreadID = strconv.Itoa(at.thread)
	}
	if first.isEdit {
		in.Change, in.ChangedAt = channels.Edited, time.Unix(first.EditDate, 0).UTC()
	}
	var problems []string
	for i, m := range parts {
		content, problem := c.newContent(ctx, in, m)
		if i == 0 {
			in.Text, in.Media, in.MediaNames = content.Text, content.Media, content.MediaNames
			in.ReplyTo, in.Forwarded = content.ReplyTo, content.Forwarded
		} else {
			in = channels.Join(in, content, separator(parts[i-1], m))
		}
		problems = append(problems, problem)
	}
	in.Text = joinLines(append([]string{in.Text}, problems...))
	return in
}

// newContent returns the content of one message, which may be a part of whole. problem describes a
// failed download.
func (c *Channel) newContent(ctx context.Context, whole channels.Incoming, m *message) (content channels.Incoming, problem string) {
	content = channels.Incoming{ID: c.gatewayID(m), Text: joinLines([]string{c.contentText(m), m.describeExtras()})}
	content.Forwarded = m.forwarded()
	if r := m.quoted(); r != nil {
		content.ReplyTo = c.newQuote(ctx, whole, m, r)
	}
	path, problem := c.downloadMedia(ctx, whole, m)
	if path != "" {
		content.Media = []string{path}
		if name := m.downloadableFile().Name; name != "" {
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
func (c *Channel) newQuote(ctx context.Context, in channels.Incoming, m, r *message) *channels.Quote {
	q := &channels.Quote{ID: c.gatewayID(r)}
	if u := sender(r); u != (channels.User{}) {
		q.User = &u
	}
	if e := m.External.value; e != nil {
		q.ID, q.User = "", nil
		if e.ID != 0 {
			q.ID = strconv.Itoa(e.ID)
		}
		if e.Origin != nil {
			q.User, q.Chat = e.Origin.author(), e.Origin.originChat()
		}
		if e.Chat.ID != 0 {
			q.Chat = e.Chat.toOrigin()
		}
	}
	text, entities := r.textAndEntities()
	if m.Quote != nil && m.Quote.Text != "" {
		text, entities = m.Quote.Text, m.Quote.Entities
	}
	path, problem := c.downloadMedia(ctx, in, r)
	if path != "" {
		q.Media = []string{path}
	}
	q.Text = joinLines([]string{renderMarkdown(text, entities, nil), r.describeExtras(), problem})
	return q
}

// sender returns the author of a message. For an anonymous administrator or a channel, that is the
// group or channel.
func sender(m *message) channels.User {
	if m.SenderChat != nil {
		return channels.User{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: channels.StripBidi(m.SenderChat.Title)}
	}
	if m.From == nil {
		return channels.User{}
	}
	return m.From.toUser()
}

func (u *user) toUser() channels.User {
	return channels.User{
		ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(channels.StripBidi(u.FirstName + " " + u.LastName)), Username: u.Username, Language: u.LanguageCode,
	}
}

// downloadMedia downloads a message's file, if it has one. problem describes a failed download, for
// the sender and the agent.
func (c *Channel) downloadMedia(ctx context.Context, in channels.Incoming, m *message) (path, problem string) {
	f := m.downloadableFile()
	if f == nil {
		return "", ""
	}
	w, name := c.words.For(in.User.Language), strconv.Quote(f.displayName(""))
	if c.o.Admitted != nil && !c.o.Admitted(in.User.ID) {
		return "", w.Text(words.FileNotReceived, name, w.Text(words.FileOfStranger))
	}
	path, err := c.download(ctx, in.Chat.ID, c.gatewayID(m), f)
	var big *tooBigError
	reason, refused := downloads.Refusal(err, w)
	switch {
	case err == nil:
		return path, ""
	case refused:
		problem = w.Text(words.FileNotReceived, name, reason)
	case errors.As(err, &big) && f.Size > 0:
		problem = w.Text(words.FileNotReceivedSize, name, channels.HumanSize(f.Size), big.explain(w))
	case errors.As(err, &big):
		problem = w.Text(words.FileNotReceived, name, big.explain(w))
	default:
		problem = w.Text(words.FileNotReceived, name, w.Text(words.FileDownloadFailed))
	}
	if ctx.Err() == nil {
		c.log.Error("file not downloaded", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
		c.notifySender(ctx, in, problem)
	}
	return "", problem
}

// notifySender replies to the sender of a message. A failure is not retried, because the agent gets
// the same notice.
func (c *Channel) notifySender(ctx context.Context, in channels.Incoming, text string) {
	_, err := c.Send(ctx, channels.Outgoing{
		Chat: in.Chat, Kind: channels.Failure, Text: text, ReplyTo: in.ID, Language: in.User.Language,
		Notification: channels.Notification{Silent: true},
	})
	if err != nil {
		c.log.Warn("sender not told that a file was not received", zap.Stringer("chat", in.Chat), zap.Error(err))
	}
}

// refuseUnreadable tells the sender that a kind of message cannot be read.
func (c *Channel) refuseUnreadable(ctx context.Context, m *message) {
	in := channels.Incoming{Chat: channels.Chat{Channel: Name, ID: m.address().String()}, ID: c.gatewayID(m)}
	if c.o.Admitted == nil || c.o.Admitted(sender(m).ID) {
		c.notifySender(ctx, in, c.words.For(sender(m).Language).Text(m.unreadable()))
	}
}
