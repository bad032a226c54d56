package discord

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/downloads"
	"nanobot/channels/httpclient"
	"nanobot/internal/words"
)

// hasFiles reports whether a message has files to download.
func (c *Channel) hasFiles(m *message) bool {
	some := len(m.files()) > 0 || m.Referenced != nil && len(m.Referenced.files()) > 0
	return some && c.isAdmitted(m.Author)
}

// files returns the attachments of a message and of the messages that it forwards.
func (m *message) files() []attachment {
	all := slices.Clone(m.Attachments)
	for _, s := range m.Snapshots {
		all = append(all, s.Message.Attachments...)
	}
	return all
}

// fullText returns the text of a message with the messages that it forwards.
func (c *Channel) fullText(m *message, r channelInfo) string {
	lines := []string{c.contentText(m, r), m.describeExtras()}
	for _, s := range m.Snapshots {
		lines = append(lines, c.contentText(&s.Message, r), s.Message.describeExtras())
	}
	return joinLines(lines...)
}

// newIncoming converts a message. It returns when the files are downloaded; for a failed download,
// the text and a reply in the chat give the reason.
func (c *Channel) newIncoming(ctx context.Context, m *message, r channelInfo, at snowflake) channels.Incoming {
	in := channels.Incoming{
		Chat: c.chat(at.String()),
		ID:   m.ID.String(),
		User: sender(m.Author, m.Member), Group: r.guild != 0,
	}
	if r.name != "" {
		in.Title = "#" + channels.StripBidi(r.name)
	}
	in.User.Language = c.guilds.guild(r.guild).language // a message does not tell its author's language
	if isThread(r.kind) {
		in.ThreadID, in.Parent = in.Chat.ID, r.parent.String()
	} else if at != m.Channel { // the message opens a thread
		in.Parent = m.Channel.String()
	}
	fetch := c.hasFiles(m)
	if q := m.Referenced; q != nil {
		in.ReplyTo = &channels.Quote{ID: q.ID.String(), Text: c.fullText(q, r), User: new(sender(q.Author, nil))}
		if fetch {
			files, problems := c.downloadAll(ctx, in, q.files())
			in.ReplyTo.Media, in.ReplyTo.Text = files.paths, joinLines(append([]string{in.ReplyTo.Text}, problems...)...)
		}
	}
	in.Text, in.Forwarded = c.fullText(m, r), c.forwarded(m)
	if fetch {
		files, problems := c.downloadAll(ctx, in, m.files())
		in.Media, in.MediaNames, in.Text = files.paths, files.names, joinLines(append([]string{in.Text}, problems...)...)
		c.reportMissingFiles(ctx, in, problems)
	}
	return in
}

// forwarded says where a forwarded message comes from; nil means that it is the sender's own.
func (c *Channel) forwarded(m *message) *channels.Forwarded {
	if len(m.Snapshots) == 0 {
		return nil
	}
	f := &channels.Forwarded{}
	if m.Reference != nil && m.Reference.Channel != 0 {
		from, _ := c.guilds.channel(m.Reference.Channel)
		f.Chat = &channels.SourceChat{ID: m.Reference.Channel.String(), Title: channels.StripBidi(from.name)}
	}
	if at, err := time.Parse(time.RFC3339, m.Snapshots[0].Message.Timestamp); err == nil {
		f.Date = at.UTC().Format(time.RFC3339)
	}
	return f
}

// downloadedFiles are the paths of downloaded files, and the names that people gave them.
type downloadedFiles struct{ paths, names []string }

// downloadAll downloads files. problems describe the downloads that failed.
func (c *Channel) downloadAll(ctx context.Context, in channels.Incoming, files []attachment) (
	got downloadedFiles, problems []string,
) {
	w := c.words.For(in.User.Language)
	var big *httpclient.TooBigError
	for _, f := range files {
		path, err := c.download(ctx, in.Chat.ID, f)
		switch {
		case err == nil:
			got.paths, got.names = append(got.paths, path), append(got.names, f.displayName())
		case errors.As(err, &big):
			problems = append(problems, w.Text(words.FileNotReceivedSize, strconv.Quote(f.Name), channels.HumanSize(f.Size),
				w.Text(words.FileLargerThan, channels.HumanSize(maxDownload))))
		default:
			if ctx.Err() == nil {
				c.log.Error("file not downloaded", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
			}
			reason, refused := downloads.Refusal(err, w)
			if !refused {
				reason = w.Text(words.FileDownloadFailed)
			}
			problems = append(problems, w.Text(words.FileNotReceived, strconv.Quote(f.Name), reason))
		}
	}
	return got, problems
}

// reportMissingFiles tells the sender which files were not received. Its nonce is derived from the
// message, so that it is sent once even if the message is processed again.
func (c *Channel) reportMissingFiles(ctx context.Context, in channels.Incoming, problems []string) {
	if len(problems) == 0 || ctx.Err() != nil {
		return
	}
	plan, err := c.Plan(channels.Message{
		Chat: in.Chat, Kind: channels.Answer, Text: joinLines(problems...),
		ReplyTo: in.ID, Language: in.User.Language,
	})
	if err == nil && len(plan) > 0 {
		plan[0].Key = "files of " + in.ID
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, err = c.Send(ctx, plan[0])
	}
	if err != nil {
		c.log.Warn("sender not told that a file was not received", zap.Stringer("chat", in.Chat), zap.String("id", in.ID),
			zap.Error(err))
	}
}
