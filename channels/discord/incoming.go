package discord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"nanobot/channels"
)

// hasFiles tells whether there is something to be downloaded.
func (c *Channel) hasFiles(m *message) bool {
	some := len(m.files()) > 0 || m.Referenced != nil && len(m.Referenced.files()) > 0
	return some && c.known(m.Author)
}

// files are the files of a message and of those that it forwards.
func (m *message) files() []attachment {
	all := slices.Clone(m.Attachments)
	for _, s := range m.Snapshots {
		all = append(all, s.Message.Attachments...)
	}
	return all
}

// text is what a message says, with what it forwards.
func (c *Channel) text(m *message, r room) string {
	lines := []string{c.spoken(m, r), m.inWords()}
	for _, s := range m.Snapshots {
		lines = append(lines, c.spoken(&s.Message, r), s.Message.inWords())
	}
	return joined(lines...)
}

// incoming makes what the gateway gets of a message. Its files are on disk when it returns; of one
// that is not, the text says why, and so does a message in the chat.
func (c *Channel) incoming(ctx context.Context, m *message, r room, at flake) channels.Incoming {
	in := channels.Incoming{
		Chat: channels.Chat{Channel: Name, ID: at.String()},
		ID:   m.ID.String(),
		User: sender(m.Author, m.Member),
	}
	if isThread(r.kind) {
		in.ThreadID = in.Chat.ID
	}
	fetch := c.hasFiles(m)
	if q := m.Referenced; q != nil {
		in.ReplyTo = &channels.Quote{ID: q.ID.String(), Text: c.text(q, r)}
		if fetch {
			files, problems := c.saveAll(ctx, in, q.files())
			in.ReplyTo.Media, in.ReplyTo.Text = files, joined(append([]string{in.ReplyTo.Text}, problems...)...)
		}
	}
	in.Text = c.text(m, r)
	if fetch {
		files, problems := c.saveAll(ctx, in, m.files())
		in.Media, in.Text = files, joined(append([]string{in.Text}, problems...)...)
		c.complain(ctx, in, problems)
	}
	return in
}

// saveAll downloads files. Of those that it cannot, problems tell.
func (c *Channel) saveAll(ctx context.Context, in channels.Incoming, files []attachment) (paths, problems []string) {
	for _, f := range files {
		path, err := c.download(ctx, in.Chat.ID, f)
		switch {
		case err == nil:
			paths = append(paths, path)
		case errors.Is(err, errTooBig):
			problems = append(problems, fmt.Sprintf("⚠ %q (%s) was not received: it is larger than %s.", f.Name, channels.HumanSize(f.Size), channels.HumanSize(maxDownload)))
		default:
			if ctx.Err() == nil {
				c.log.Error("file not downloaded", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
			}
			problems = append(problems, fmt.Sprintf("⚠ %q was not received: its download failed.", f.Name))
		}
	}
	return paths, problems
}

// complain tells the sender which files we do not have. It carries a nonce that is made of the
// message, so that it is said once even if the message is looked at again.
func (c *Channel) complain(ctx context.Context, in channels.Incoming, problems []string) {
	if len(problems) == 0 || ctx.Err() != nil {
		return
	}
	plan, err := c.Plan(channels.Message{Chat: in.Chat, Kind: channels.Answer, Text: joined(problems...), ReplyTo: in.ID})
	if err == nil && len(plan) > 0 {
		plan[0].Key = "files of " + in.ID
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, err = c.Send(ctx, plan[0])
	}
	if err != nil {
		c.log.Warn("sender not told that a file was not received", zap.Stringer("chat", in.Chat), zap.String("id", in.ID), zap.Error(err))
	}
}
